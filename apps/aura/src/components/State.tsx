// The state of a session at any event, as the fold has it: what the agent does, waits for and has used.
import { useStanding } from "../hooks/session";
import { useApp, type OpenSession } from "../store/app";
import { isBusy, runningCalls } from "../store/conversation";
import { useTexts } from "../texts";
import { clock, duration, spent, tokens } from "./format";
import { Fact, Group } from "./parts";

export function State({ open }: { open: OpenSession }) {
  const t = useTexts();
  const language = useApp((app) => app.language);
  const { shown } = open;
  const { words } = useStanding(shown);
  const { run, usage } = shown;
  const calls = Object.values(shown.calls);
  const running = runningCalls(shown);
  const agents = Object.values(shown.agents);
  const took = run && run.startedAt > 0 ? ((run.endedAt ?? shown.at) - run.startedAt) / 1000 : null;
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0}>
      <h2 className="sr-only">{t("view_state")}</h2>
      <div className="mx-auto grid max-w-[46rem] gap-x-10 gap-y-7 px-4 py-6 sm:grid-cols-2 sm:px-6">
        <Group label={t("run")}>
          <Fact name={t("standing")}>{words}</Fact>
          {run && <Fact name="id"><span className="font-mono text-xs">{run.id || "–"}</span></Fact>}
          {run && <Fact name={t("iterations")}>{run.iterations}</Fact>}
          {took !== null && <Fact name={t("took")}>{duration(took)}</Fact>}
          {run?.reason && <Fact name={t("reason")}>{run.reason}</Fact>}
          {shown.at > 0 && <Fact name={t("time")}>{clock(shown.at, language)}</Fact>}
        </Group>
        <Group label={t("usage")}>
          <Fact name={t("tokensIn")}>{tokens(usage.input_tokens)}</Fact>
          <Fact name={t("tokensOut")}>{tokens(usage.output_tokens)}</Fact>
          <Fact name={t("modelCalls")}>{shown.modelCalls}</Fact>
          <Fact name={t("cost")}>{spent(shown.cost, usage)}</Fact>
        </Group>
        <Group label={t("waitsFor")}>
          {shown.questions.map((one) => (
            <Fact key={one.tool_call_id} name={one.name}>{one.question?.question ?? one.reason}</Fact>
          ))}
          {running.map((call) => (
            <Fact key={call.id} name={call.name}>{t("running")}</Fact>
          ))}
          {shown.queued.map((one) => (
            <Fact key={one.id} name={t(one.mode === "steer" ? "steer" : "queued")}>
              <span className="font-mono text-xs">{one.id}</span>
            </Fact>
          ))}
          {shown.questions.length + running.length + shown.queued.length === 0 && (
            <p className="text-sm text-faint">{isBusy(shown) ? t("theModel") : t("nothing")}</p>
          )}
        </Group>
        <Group label={t("agents")}>
          {agents.map((agent) => (
            <Fact key={agent.id} name={agent.name || "–"}>
              {t("entries", { count: agent.items.length })}
              {agent.isGone ? ` · ${t("ended")}` : ""}
            </Fact>
          ))}
          <Fact name={t("calls")}>{calls.length}</Fact>
        </Group>
      </div>
    </div>
  );
}
