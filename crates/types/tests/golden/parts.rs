//! Values that several samples hold, with every field set, and in their smallest form.

use std::sync::Arc;

use agentx_types::*;
use serde_json::json;

pub(crate) fn usage() -> Usage {
    Usage {
        input_tokens: 10,
        output_tokens: 20,
        cache_read_tokens: 30,
        cache_write_tokens: 40,
        cache_write_1h_tokens: 0,
        reasoning_tokens: 5,
        estimated_tokens: 3,
        reported_cost: NanoUsd(9),
        unpriced_tokens: 2,
    }
}

pub(crate) fn left_running() -> LeftRunning {
    LeftRunning {
        tool_call_id: Some("call_1".into()),
        program: "sleep".into(),
        processes: 2,
    }
}

pub(crate) fn cut_off_output() -> CutOffOutput {
    CutOffOutput {
        action_id: "act_12_0".into(),
        text: "compiling\n".into(),
        left_out: 4096,
    }
}

pub(crate) fn rule() -> Rule {
    Rule {
        effect: RuleEffect::Allow,
        tool: "bash".into(),
        argument: Some("git *".into()),
        path: Some("src/**".into()),
        workspace: Some("/w".into()),
        origin: Some(TextOrigin::Web),
    }
}

pub(crate) fn small_rule() -> Rule {
    Rule {
        effect: RuleEffect::Deny,
        tool: "*".into(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    }
}

fn provider_data() -> ProviderData {
    ProviderData {
        api: "anthropic".into(),
        model: Some("claude-x".into()),
        data: json!({"signature": "c2ln"}),
    }
}

pub(crate) fn every_content_part() -> Vec<ContentPart> {
    let media = |source| MediaPart {
        media_type: "image/png".into(),
        source,
        name: Some("shot.png".into()),
    };
    let call = ToolCallPart {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        input: json!({"path": "a.txt"}),
        provider: Some(provider_data()),
    };
    let result = ToolResultPart {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        content: vec![ContentPart::text("hello")],
        is_error: false,
    };
    let parts = vec![
        ContentPart::Text(TextPart {
            text: "你好".into(),
            provider: Some(provider_data()),
        }),
        ContentPart::Image(media(MediaSource::Blob("b3_00ff".into()))),
        ContentPart::Audio(media(MediaSource::Base64("AAAA".into()))),
        ContentPart::File(media(MediaSource::Url("https://example.org/a.pdf".into()))),
        ContentPart::Thinking(ThinkingPart {
            text: "hm".into(),
            provider: Some(provider_data()),
        }),
        ContentPart::ToolCall(call),
        ContentPart::ToolResult(result),
        ContentPart::Opaque(OpaquePart {
            provider: provider_data(),
        }),
    ];
    for part in &parts {
        // Exhaustive: a new part does not compile until it has a line here.
        match part {
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                match media.source {
                    MediaSource::Blob(_) | MediaSource::Base64(_) | MediaSource::Url(_) => {}
                }
            }
            ContentPart::Text(_)
            | ContentPart::Thinking(_)
            | ContentPart::ToolCall(_)
            | ContentPart::ToolResult(_)
            | ContentPart::Opaque(_) => {}
        }
    }
    parts
}

pub(crate) fn every_small_content_part() -> Vec<ContentPart> {
    let media = MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Blob("b3_00ff".into()),
        name: None,
    };
    let call = ToolCallPart {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        input: json!({}),
        provider: None,
    };
    vec![
        ContentPart::text("hi"),
        ContentPart::Image(media),
        ContentPart::Thinking(ThinkingPart {
            text: String::new(),
            provider: None,
        }),
        ContentPart::ToolCall(call),
    ]
}

pub(crate) fn message() -> Message {
    Message {
        message_id: "msg_1".into(),
        role: Role::Assistant,
        content: every_content_part(),
        by: Some("own_2".into()),
    }
}

pub(crate) fn model() -> ModelSpec {
    ModelSpec {
        id: "claude-x".into(),
        provider: "anthropic".into(),
        api: Api::Anthropic,
        context_window: 200_000,
        max_output_tokens: 64_000,
        input: Some(vec![InputMedium::Image, InputMedium::Audio, InputMedium::File]),
        prices: Prices {
            input: 3_000,
            output: 15_000,
            cache_read: 300,
            cache_write: 3_750,
            cache_write_1h: None,
            long: Some(LongPrices {
                over_tokens: 100_000,
                input: 6_000,
                output: 30_000,
                cache_read: 600,
                cache_write: 7_500,
            }),
            free: false,
        },
        server: None,
        assumes_output: false,
        name: None,
    }
}

pub(crate) fn params() -> ModelParams {
    ModelParams {
        max_output_tokens: Some(1_000),
        temperature: Some(0.5),
        thinking_tokens: Some(2_000),
    }
}

pub(crate) fn limits() -> Limits {
    Limits {
        max_iterations: Some(50),
        max_tokens: Some(1_000_000),
        max_cost: Some(NanoUsd(2_000_000_000)),
        max_wall_ms: Some(600_000),
    }
}

pub(crate) fn tool() -> ToolSpec {
    let mut spec = ToolSpec::new("bash", "Runs a command.", json!({"type": "object"}), Access::Run)
        .with_path_argument("cwd")
        .with_command_argument("command")
        .with_address_argument("urls")
        .with_idempotent(true)
        .with_quit(true)
        .with_checked(true)
        .with_reach(ToolReach {
            hosts: vec!["api.example.org".into()],
            variables: vec!["WEATHER_KEY".into()],
            tools: vec!["read".into()],
            models: vec!["big".into()],
            key_spaces: vec!["notes".into()],
            agents: vec!["helper".into()],
            file: Some("0123456789abcdef0123".into()),
            replaces: true,
            mcp: Some("github/create_issue".into()),
            of_folder: true,
            changed: Some("the description".into()),
        });
    spec.asks_unknown = true;
    spec
}

pub(crate) fn small_tool() -> ToolSpec {
    let mut spec = tool();
    spec.path_argument = None;
    spec.command_argument = None;
    spec.address_argument = None;
    spec.idempotent = false;
    spec.asks_unknown = false;
    spec.quit = false;
    spec.checked = false;
    spec.reach = None;
    spec
}

pub(crate) fn instructions() -> Vec<Instructions> {
    vec![Instructions {
        path: "/w/AGENTS.md".into(),
        text: "Be kind.".into(),
    }]
}

pub(crate) fn config() -> AgentConfig {
    AgentConfig {
        agents: vec![small_config()],
        routing: Some(Box::new(routing())),
        ..childless()
    }
}

fn routing() -> Routing {
    let small = IntentRule {
        name: "nothing".into(),
        ..IntentRule::default()
    };
    let var = |name: &str, label: &str, kind| IntentVar {
        name: name.into(),
        label: label.into(),
        kind,
    };
    let volume = IntentRule {
        name: "volume".into(),
        references: vec![IntentReference {
            topic: "loud".into(),
            text: "100 is loud.".into(),
        }],
        vars: vec![
            var("pct", "百分比", VarKind::Int),
            var("room", "where", VarKind::String),
        ],
        patterns: vec![
            IntentPattern {
                input: "音量 [pct]".into(),
                output: None,
            },
            IntentPattern {
                input: "louder".into(),
                output: Some("volume: pct=90".into()),
            },
        ],
        examples: vec![
            IntentExample {
                subject: "several at once".into(),
                input: Some("louder, and stop".into()),
                output: Some("volume: pct=90".into()),
            },
            IntentExample {
                subject: "be careful".into(),
                input: None,
                output: None,
            },
        ],
    };
    Routing {
        rules: vec![volume, small],
        routes: vec![Route {
            rules: vec!["volume".into()],
            agent: small_config(),
        }],
        default: Some(Box::new(small_config())),
    }
}

pub(crate) fn condensing() -> Condensing {
    Condensing {
        at_percent: 75,
        tail: 4,
        model: Some(Box::new(model())),
        keeps_beginning: true,
        masks: Some(100),
        masks_web: Some(1),
        recent: Some(90),
        summary_after: Some(80),
        no_summary: true,
    }
}

pub(crate) fn guard() -> Guard {
    Guard {
        secrets: vec!["/**/.env".into(), "~/.ssh/**".into()],
        except: vec!["/**/.env.example".into()],
        own: vec!["/home/me/.local/share/agentx/**".into()],
        git: vec!["filter.lfs.clean".into()],
        git_remotes: Some(GitRemotes {
            names: vec!["origin".into()],
            may_be_paths: true,
        }),
        read_only: true,
        reading_commands: true,
        homes: vec!["/home/me".into()],
    }
}

pub(crate) fn server_rules() -> ServerRules {
    ServerRules {
        rules: vec![rule()],
        member_directory: Some("/srv/members/own_ann".into()),
    }
}

fn childless() -> AgentConfig {
    AgentConfig {
        kind: AgentKind::React,
        name: "main".into(),
        model: model(),
        fallbacks: Vec::new(),
        params: params(),
        system_prompt: "You help.".into(),
        instructions: instructions(),
        workspace: "/w".into(),
        tools: Arc::from([tool(), small_tool()]),
        approval: ApprovalMode::Ask,
        rules: vec![rule(), small_rule()],
        limits: limits(),
        agents: Vec::new(),
        routing: None,
        condensing: None,
        rules_version: 1,
        guard: Some(Arc::new(guard())),
        server_rules: Some(Arc::new(server_rules())),
        all_tools: true,
        tool_search: Some(ToolSearch { at_percent: 10 }),
        answer_schema: None,
        ask_user: Some(AskUser::Decide),
        wait: true,
        reminders: Some(Box::new(ReminderSettings {
            time_zone: "Europe/Berlin".into(),
        })),
        asks_at_limits: true,
        plan_mode: Some(true),
        stuck: Some(StuckSettings::default()),
        context_sources: vec![ContextSource {
            name: "memory".into(),
            max_tokens: 500,
        }],
        learning: Some(LearningSettings {
            threshold_turns: 20,
            reflect_turns: 60,
        }),
        web_text: false,
        security: Some(Box::new(SecuritySettings {
            analyzers: vec![AnalyzerSpec::new("rules")],
            ..SecuritySettings::default()
        })),
        built_in_agents: vec!["general".into()],
        built_in: None,
        history_messages: None,
    }
}

pub(crate) fn found_loop() -> LoopDetected {
    LoopDetected {
        kind: LoopKind::Error,
        times: 3,
        tools: vec!["bash".into()],
        response: LoopResponse::Nudge,
        message: "`bash` was called 3 times in a row".into(),
    }
}

pub(crate) fn small_config() -> AgentConfig {
    AgentConfig {
        params: ModelParams::default(),
        instructions: vec![],
        tools: Arc::from([]),
        rules: vec![],
        limits: Limits::default(),
        agents: Vec::new(),
        routing: None,
        rules_version: 0,
        guard: None,
        server_rules: None,
        all_tools: false,
        tool_search: None,
        ask_user: None,
        wait: false,
        reminders: None,
        asks_at_limits: false,
        plan_mode: None,
        stuck: None,
        context_sources: Vec::new(),
        learning: None,
        web_text: false,
        security: None,
        built_in_agents: Vec::new(),
        built_in: None,
        history_messages: None,
        answer_schema: None,
        ..childless()
    }
}

pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        model: model(),
        params: params(),
        system: vec!["You help.".into()],
        messages: vec![Arc::new(message())],
        tools: Arc::from([tool()]),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    }
}

pub(crate) fn seat() -> Seat {
    Seat {
        person: "own_2".into(),
        client: "laptop".into(),
    }
}

pub(crate) fn wheel_changed() -> WheelChanged {
    WheelChanged {
        seat: Some(seat()),
        epoch: 3,
        reason: WheelReason::HandedOver,
    }
}

pub(crate) fn access_changed() -> AccessChanged {
    AccessChanged {
        person: "own_2".into(),
        role: Some(SessionRole::Approve),
        by: None,
    }
}
