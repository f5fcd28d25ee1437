//! The plan flow: one decision, made by a model and endorsed piece by piece.

use std::sync::Arc;

use loom_classify::endorse::{BoundedText, Matched, Rejected};
use loom_classify::{Fenced, Tainted};
use loom_effect_runtime::{CallError, ErrorName, Tool};
use loom_llm::effect::LlmReply;
use loom_llm::{ChatRequest, Message, ResponseFormat};
use loom_workflow::{DecideScope, Flow, flow};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::live::Live;

/// The flow's name.
pub(crate) const FLOW: &str = "plan";

/// The tool that its decider calls.
pub(crate) const PLAN_TOOL: &str = "llm.plan";

/// The most tokens an answer may have.
pub(crate) const PLAN_TOKENS_MAX: u32 = 512;

/// How often the model is asked until its answer is a plan.
const PLAN_ATTEMPTS_MAX: u32 = 3;

const STEPS_MAX: usize = 4;
const STEP_CHARS_MAX: usize = 60;

/// What an execution is started with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlanInput {
    pub(crate) goal: String,
    pub(crate) model: String,
}

/// The decision: steps that a validator has accepted, and nothing else of what the model said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Matched>,
}

/// What the decider needs to ask the model.
#[derive(Clone)]
pub(crate) struct Planner {
    pub(crate) tool: Tool<ChatRequest, LlmReply>,
    pub(crate) live: Arc<Live>,
}

/// The flow. Without a planner it can only be replayed.
pub(crate) fn plan_flow(planner: Option<Planner>) -> Flow {
    flow(FLOW, "1", move |ctx, input: PlanInput| {
        let planner = planner.clone();
        async move {
            let id = ctx.execution_id().clone();
            let decider = async move |scope| match planner {
                Some(planner) => {
                    planner.live.begin(id.as_str());
                    planner.decide(scope, &input).await
                }
                None => Err(CallError::named(ErrorName::EffectFailed, "a replay has no model to ask")),
            };
            ctx.decide("plan", decider).max_calls(u64::from(PLAN_ATTEMPTS_MAX)).await
        }
    })
}

impl Planner {
    async fn decide(&self, scope: DecideScope, input: &PlanInput) -> Result<Plan, CallError> {
        let mut last = NoPlan::NotJson;
        for attempt in 1..=PLAN_ATTEMPTS_MAX {
            if attempt > 1 {
                self.live.ask_again();
            }
            let call = scope.invoke_transient(self.tool, request(input)).on_delta_sink(self.live.sink());
            let (reply, report) = call.reported().await;
            self.live.asked(report.attempts);
            match Plan::read(&reply?.content) {
                Ok(plan) => return Ok(plan),
                Err(no_plan) => last = no_plan,
            }
        }
        let message =
            format!("the model gave no plan in {PLAN_ATTEMPTS_MAX} attempts; its last answer {last}");
        Err(CallError::named(ErrorName::PlanInvalid, message))
    }
}

/// What the model is asked.
pub(crate) fn request(input: &PlanInput) -> ChatRequest {
    const SYSTEM: &str = "You plan. Answer with JSON alone: {\"steps\": [...]} with one to four steps, each one short \
                          imperative sentence of at most 60 characters.";
    const EXAMPLE: &str = r#"{"steps": ["Choose a pot and fresh soil", "Move the plant and water it"]}"#;
    let schema = json!({
        "type": "object",
        "properties": {
            "steps": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": STEP_CHARS_MAX},
                "minItems": 1,
                "maxItems": STEPS_MAX,
            },
        },
        "required": ["steps"],
        "additionalProperties": false,
    });
    let messages = vec![
        Message::system(SYSTEM),
        Message::user("Goal: repot a plant"),
        Message::assistant(Fenced::trusted(EXAMPLE.to_owned())),
        Message::user(format!("Goal: {}", input.goal)),
    ];
    ChatRequest::new(&input.model, messages)
        .with_max_tokens(PLAN_TOKENS_MAX)
        .with_response_format(ResponseFormat::json_schema("plan", schema))
}

/// Why an answer is no plan. It ends a sentence about the answer, and quotes none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum NoPlan {
    #[error("is not the JSON that was asked for: expected {{\"steps\": [\"…\"]}}")]
    NotJson,
    #[error("has {got} steps, expected 1 to {STEPS_MAX}")]
    Steps { got: usize },
    #[error("has a step that cannot be used: {0}")]
    Step(#[from] Rejected),
}

/// The answer as it is parsed; other fields are dropped here.
#[derive(Deserialize)]
struct Draft {
    steps: Vec<String>,
}

impl Plan {
    /// Reads an answer. The steps are tainted until each of them is endorsed.
    fn read(answer: &Tainted<String>) -> Result<Self, NoPlan> {
        let draft = answer.as_tainted_ref().try_map(|text| draft(text)).map_err(|_| NoPlan::NotJson)?;
        let steps = draft.map(|draft| draft.steps).into_each();
        let steps: Vec<Tainted<String>> = steps.take(STEPS_MAX + 1).collect();
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(NoPlan::Steps { got: steps.len() });
        }
        let short = BoundedText::chars(1, STEP_CHARS_MAX);
        let steps = steps.into_iter().map(|step| step.map(|step| step.trim().to_owned()).endorse(&short));
        Ok(Self { steps: steps.collect::<Result<_, _>>()? })
    }
}

/// The first JSON object of the text: models like to wrap it in a fence or a sentence.
fn draft(text: &str) -> Result<Draft, serde_json::Error> {
    let object = text.find('{').and_then(|at| text.get(at..)).unwrap_or(text);
    Draft::deserialize(&mut serde_json::Deserializer::from_str(object))
}

#[cfg(test)]
mod tests {
    use loom_classify::TaintOrigin;

    use super::*;

    fn read(answer: &str) -> Result<Vec<String>, NoPlan> {
        let plan = Plan::read(&Tainted::new(answer.to_owned(), TaintOrigin::llm(PLAN_TOOL)))?;
        Ok(plan.steps.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_plan_is_the_first_object_with_one_to_four_short_steps() {
        assert_eq!(read(r#"{"steps": ["a", " b "], "notes": "dropped"}"#).unwrap(), ["a", "b"]);
        assert_eq!(read("Sure!\n```json\n{\"steps\": [\"a\"]}\n``` I hope {it} helps").unwrap(), ["a"]);
        assert_eq!(read(&json!({"steps": ["é".repeat(60)]}).to_string()).unwrap(), ["é".repeat(60)]);
    }

    /// D9: a step leaves its taint through a validator with a small output, or not at all.
    #[test]
    fn what_is_no_plan_is_refused_and_not_quoted() {
        for answer in ["", "the weather", "{", "{}", "[\"a\"]", r#"{"steps": "a"}"#, r#"{"steps": [1]}"#] {
            assert_eq!(read(answer), Err(NoPlan::NotJson), "{answer}");
        }
        assert_eq!(read(r#"{"steps": []}"#), Err(NoPlan::Steps { got: 0 }));
        assert_eq!(read(r#"{"steps": ["a", "b", "c", "d", "secret"]}"#), Err(NoPlan::Steps { got: 5 }));
        assert!(matches!(read(r#"{"steps": ["fine", " "]}"#), Err(NoPlan::Step(_))));
        for step in ["a\u{1b}[2J", "a\nb", "a\u{202e}b", &"x".repeat(61)] {
            let refused = read(&json!({"steps": ["fine", step]}).to_string()).unwrap_err();
            assert!(matches!(refused, NoPlan::Step(_)) && !refused.to_string().contains(step), "{refused}");
        }
    }

    #[test]
    fn the_one_shot_example_is_a_plan_and_the_goal_is_the_last_message() {
        let input = PlanInput { goal: "bake bread".to_owned(), model: "m".to_owned() };
        let wire = serde_json::to_value(request(&input)).unwrap();
        let messages = wire["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap(), &json!({"role": "user", "content": "Goal: bake bread"}));
        assert_eq!(read(messages[2]["content"].as_str().unwrap()).unwrap().len(), 2);
        assert_eq!(wire["max_tokens"], PLAN_TOKENS_MAX);
        assert_eq!(wire["response_format"]["json_schema"]["schema"]["properties"]["steps"]["maxItems"], 4);
    }
}
