//! A panic in a third party's data or clock has a stated outcome too: it never unwinds into the caller.

use std::sync::Arc;

use loom_effect_runtime::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::support::{Act, Scripted, ask, plan, run};

/// A value whose serde code panics where `at` says; `Clone` too.
struct Trap {
    at: String,
}

impl Trap {
    fn new(at: &str) -> Self {
        Self { at: at.to_owned() }
    }
}

impl Clone for Trap {
    fn clone(&self) -> Self {
        assert_ne!(self.at, "clone");
        Self { at: self.at.clone() }
    }
}

impl Serialize for Trap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.at, "serialize");
        self.at.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Trap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let at = String::deserialize(deserializer)?;
        assert_ne!(at, "deserialize");
        Ok(Self { at })
    }
}

/// Takes a trap and gives one.
struct Echo;

impl Effect for Echo {
    type Input = Trap;
    type Output = Trap;

    fn id(&self) -> &str {
        "echo"
    }

    async fn execute(&self, input: &Trap, _: &EffectContext<'_>) -> Result<Trap, CallError> {
        Ok(Trap::new(input.at.strip_prefix("output ").unwrap_or("fine")))
    }
}

fn echo() -> EffectRuntime {
    EffectRuntime::builder().allow_all_calls().effect(Echo).build().unwrap()
}

/// The answer of a call, run on a task of its own, so that a panic of the call itself is seen as such.
fn outcome<F>(call: F) -> Result<(), CallError>
where
    F: Future<Output = Result<(), CallError>> + Send + 'static,
{
    let result = run(async { tokio::spawn(call).await });
    result.expect("the panic unwound into the caller")
}

/// D2: input whose `Serialize` panics under the request guard is refused.
#[test]
fn a_panic_in_an_inputs_serialize_refuses() {
    let runtime = echo();
    let tool = runtime.tool::<Trap, Trap>("echo").unwrap();
    let error =
        outcome(async move { runtime.invoke_transient(tool, Trap::new("serialize")).await.map(drop) });
    assert!(error.is_err());
}

/// D2: input whose `Deserialize` panics at coercion is refused, and only after the authorizer.
#[test]
fn a_panic_at_coercion_refuses() {
    let runtime = echo();
    let call = async move { runtime.invoke_transient("echo", "deserialize".to_owned()).await.map(drop) };
    assert_eq!(outcome(call).unwrap_err().name(), ErrorName::InputInvalid);
    let denied = EffectRuntime::builder()
        .authorizer(authorize(|_, _| Step::Deny(Refusal::capability_denied("echo"))))
        .effect(Echo)
        .build()
        .unwrap();
    let call = async move { denied.invoke_transient("echo", "deserialize".to_owned()).await.map(drop) };
    assert_eq!(outcome(call).unwrap_err().name(), ErrorName::CapabilityDenied);
}

/// D2: output whose JSON form panics fails the call by id with OutputInvalid.
#[test]
fn a_panic_in_an_outputs_serialize_fails_the_call() {
    let runtime = echo();
    let call = async move { runtime.invoke_transient("echo", "output serialize".to_owned()).await.map(drop) };
    assert_eq!(outcome(call).unwrap_err().name(), ErrorName::OutputInvalid);
}

/// T14: a `Clone` that panics when an around keeps an output fails the call.
#[test]
fn a_panic_in_clone_at_keep_fails_the_call() {
    let runtime = EffectRuntime::builder()
        .allow_all_calls()
        .around(around("keeps", |_, mut next| {
            Box::pin(async move {
                let proof = next.run().await?;
                let _ = next.keep(&proof);
                Ok(proof)
            })
        }))
        .effect(Echo)
        .build()
        .unwrap();
    let tool = runtime.tool::<Trap, Trap>("echo").unwrap();
    let _ = outcome(async move { runtime.invoke_transient(tool, Trap::new("output clone")).await.map(drop) });
}

/// D8: an effect whose future panics when it is dropped does not take the caller with it, and the verdict stands.
#[test]
fn a_panic_in_the_dropped_future_does_not_unwind_into_the_caller() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "scripted");
        }
    }
    struct Parks;
    impl Effect for Parks {
        type Input = u8;
        type Output = u8;
        fn id(&self) -> &str {
            "parks"
        }
        async fn execute(&self, _: &u8, _: &EffectContext<'_>) -> Result<u8, CallError> {
            let _bomb = Bomb;
            std::future::pending().await
        }
    }
    let runtime = EffectRuntime::builder().allow_all_calls().effect(Parks).build().unwrap();
    let signal = Signal::new();
    let call = runtime.invoke_transient("parks", 1_u8).signal(signal.clone()).into_future();
    let joined = run(async {
        let call = tokio::spawn(call);
        tokio::task::yield_now().await;
        signal.abort_with(AbortError::new());
        call.await
    });
    assert_eq!(joined.expect("the panic unwound into the caller").unwrap_err().name(), ErrorName::Abort);
}

/// D2: a clock that panics refuses the waiting step that needed it.
#[test]
fn a_panic_in_the_clock_refuses_the_waiting_step() {
    #[derive(Clone)]
    struct Broken(&'static str);
    impl Clock for Broken {
        fn now_ms(&self) -> u64 {
            panic!("scripted")
        }
        fn monotonic(&self) -> std::time::Duration {
            panic!("scripted")
        }
        fn sleep(&self, _: std::time::Duration) -> Option<futures::future::BoxFuture<'static, ()>> {
            assert_ne!(self.0, "sleep");
            Some(Box::pin(async { panic!("scripted") }))
        }
    }
    for at in ["sleep", "timer"] {
        let effect = Scripted::new([Act::answer("x")]);
        let runtime = EffectRuntime::builder()
            .allow_all_calls()
            .clock(Broken(at))
            .middleware(before_wait("parks", |_, _| Box::pin(std::future::pending())))
            .effect(effect.clone())
            .build()
            .unwrap();
        let runtime = Arc::new(runtime);
        let error =
            outcome(async move { runtime.invoke_transient(plan(&runtime), ask("x")).await.map(drop) });
        assert!(error.unwrap_err().is_refusal(), "{at}");
        assert_eq!(effect.executions(), 0);
    }
}
