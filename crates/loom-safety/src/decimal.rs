//! A number as text, without an allocation: a card number is one whether JSON quotes it or not.

use std::fmt::{self, Write};

use loom_classify::walk::Scalar;

/// The longest `Display` of a finite `f64`: sign, `0.`, 323 zeros and 17 digits. Integers are shorter.
const BYTES_MAX: usize = 344;

/// A number in decimal.
pub(crate) struct Decimal {
    bytes: [u8; BYTES_MAX],
    len: usize,
}

impl Decimal {
    pub(crate) fn of(number: Scalar) -> Self {
        let mut decimal = Self { bytes: [0; BYTES_MAX], len: 0 };
        // A number that outgrew the buffer would be judged by its head; the bound above says that none does.
        let _ = write!(decimal, "{number}");
        decimal
    }

    pub(crate) fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl Write for Decimal {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        let end = self.len + piece.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(piece.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_fits() {
        for number in [
            Scalar::Float(f64::MIN),
            Scalar::Float(-f64::from_bits(1)),
            Scalar::Float(-f64::MIN_POSITIVE * 1.1),
            Scalar::SignedWide(i128::MIN),
            Scalar::UnsignedWide(u128::MAX),
            Scalar::Unsigned(4_111_111_111_111_111),
        ] {
            assert_eq!(Decimal::of(number).as_str(), number.to_string());
        }
    }
}
