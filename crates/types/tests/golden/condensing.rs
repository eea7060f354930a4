//! Samples of the events about condensing.

use agentx_types::*;

use super::parts::{condensing, request, usage};

fn range() -> ContextRange {
    ContextRange {
        from_seq: 3,
        to_seq: 90,
        messages: 41,
        tokens: 70_000,
        summary_tokens: 900,
    }
}

/// An item of a built context.
pub(crate) fn context_item() -> ContextItem {
    ContextItem {
        id: "12".into(),
        origin: Some("ses_1:17".into()),
    }
}

/// Each way in which a context changes.
pub(crate) fn changes() -> [ContextChange; 13] {
    let changes = [
        ContextChange::Condensing(ContextRange {
            summary_tokens: 0,
            ..range()
        }),
        ContextChange::Condensed(range()),
        ContextChange::Failed {
            code: "overloaded".into(),
            message: "try later".into(),
        },
        ContextChange::Restored(range()),
        ContextChange::Repaired(RequestPart::Thinking),
        ContextChange::ToolsLeftOut {
            tools: vec!["now".into()],
        },
        ContextChange::Cut {
            window: 4_096,
            assumed: 32_768,
        },
        ContextChange::Built {
            source: "memory".into(),
            items: vec![context_item()],
            problem: None,
        },
        ContextChange::Proposed {
            items: vec![context_item()],
            problem: None,
        },
        ContextChange::Shortened { window: 15_000 },
        ContextChange::FellBack {
            from: "anthropic/claude".into(),
            to: "openai/gpt".into(),
            code: "overloaded".into(),
            message: "busy".into(),
            unpriced: true,
        },
        ContextChange::WindowGuessed {
            window: 37_500,
            before: 30_000,
            fixed: false,
        },
        ContextChange::WindowGuessed {
            window: 30_000,
            before: 37_500,
            fixed: true,
        },
    ];
    for change in &changes {
        // Exhaustive: a new change does not compile until it has a line here.
        match change {
            ContextChange::Condensing(_)
            | ContextChange::Condensed(_)
            | ContextChange::Failed { .. }
            | ContextChange::Restored(_)
            | ContextChange::Repaired(_)
            | ContextChange::ToolsLeftOut { .. }
            | ContextChange::Shortened { .. }
            | ContextChange::Built { .. }
            | ContextChange::Proposed { .. }
            | ContextChange::FellBack { .. }
            | ContextChange::WindowGuessed { .. }
            | ContextChange::Cut { .. } => {}
        }
    }
    changes
}

pub(crate) fn condense() -> Condense {
    Condense {
        from_seq: 3,
        to_seq: 90,
        kept: vec!["msg_1".into()],
        tokens: 70_000,
        request: std::sync::Arc::new(request()),
        brief: true,
        written: Some("in short".into()),
        masked: vec!["bash".into()],
    }
}

/// The facts with every field set, then their smallest forms.
pub(crate) fn facts() -> Vec<EnvironmentEvent> {
    let bill = EffectBill {
        model: "claude-x".into(),
        usage: usage(),
        cost: NanoUsd(4_500_000),
    };
    let small = Condensing {
        at_percent: condensing().at_percent,
        tail: condensing().tail,
        ..Condensing::default()
    };
    vec![
        InputPinned {
            message_id: "msg_1".into(),
            pinned: true,
            by: None,
        }
        .into(),
        CondenseRequested {
            instructions: Some("keep the names".into()),
            by: None,
        }
        .into(),
        ContextCondensed {
            from_seq: 3,
            to_seq: 90,
            summary: "They said hello.".into(),
            kept: vec!["msg_1".into()],
            bill: Some(Box::new(bill.clone())),
            masked: vec!["bash".into()],
        }
        .into(),
        CondensingFailed {
            code: "overloaded".into(),
            message: "try later".into(),
            bill: Some(Box::new(bill)),
        }
        .into(),
        ContextRestored {
            from_seq: 3,
            to_seq: 90,
            by: None,
        }
        .into(),
        CondenseRequested {
            instructions: None,
            by: None,
        }
        .into(),
        CondensingFailed {
            code: "interrupted".into(),
            message: "it was stopped".into(),
            bill: None,
        }
        .into(),
        ConfigChanged {
            change: ConfigChange::Condensing(None),
            by: None,
        }
        .into(),
        ConfigChanged {
            change: ConfigChange::Condensing(Some(Box::new(small))),
            by: None,
        }
        .into(),
    ]
}
