//! Fields as providers really fill them.

use std::borrow::Cow;

use serde::Deserialize;

/// The text, where there is any.
pub(crate) fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Declares an object of a dialect: every field optional and lent or owned as its type says, unknown ones passed over,
/// and of a field that comes twice the last value that is one, as some servers repeat them.
macro_rules! lenient_object {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident ($key:literal): $type:ty,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Default)]
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* $field_vis $field: Option<$type>,)*
        }

        impl<'de $(: $life, $life)?> ::serde::Deserialize<'de> for $name $(<$life>)? {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields<T>(::std::marker::PhantomData<T>);

                impl<'de $(: $life, $life)?> ::serde::de::Visitor<'de> for Fields<$name $(<$life>)?> {
                    type Value = $name $(<$life>)?;

                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: ::serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut object = $name::default();
                        while let Some(key) = map.next_key::<$crate::dialect::Key<'de>>()? {
                            match key.text() {
                                $($key => object.$field = map.next_value::<Option<$type>>()?.or(object.$field),)*
                                _ => {
                                    map.next_value::<::serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(object)
                    }
                }

                deserializer.deserialize_map(Fields(::std::marker::PhantomData))
            }
        }
    )*};
}
pub(crate) use lenient_object;

/// The name of a field, lent where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl Key<'_> {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}
