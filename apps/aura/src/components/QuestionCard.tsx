// A call or a question that waits for a person: the same answers as in the terminal.
import { useEffect, useMemo, useRef, useState } from "react";
import { ACCEPT_PLAN } from "./plan";
import { approve, command } from "../hooks/wiring";
import { useQuestion } from "../hooks/session";
import type { ApprovalDecision, Rule } from "../protocol";
import type { OpenSession } from "../store/app";
import type { Question } from "../store/conversation";
import { useTexts } from "../texts";
import { Arguments } from "./CallCard";
import { compareTexts, Diff } from "./Diff";
import { Ask, Shield } from "./icons";
import { Form } from "./Form";
import { Markdown, webAddress } from "./Markdown";
import { Button, Kbd } from "./parts";
import { kindOf } from "./tool";

/** A key counts only this long after the question appeared, so that none answers what nobody has read. */
const KEYS_AFTER_MS = 300;

export function QuestionCard({ open, question }: { open: OpenSession; question: Question }) {
  const isQuestion = Boolean(question.question ?? question.form);
  return (
    <section
      className="rounded-xl border border-line-strong bg-raised p-4 shadow-pop"
      aria-live="assertive"
      key={question.tool_call_id}
    >
      {isQuestion ? <Asked open={open} question={question} /> : <Approval open={open} question={question} />}
    </section>
  );
}

function Approval({ open, question }: { open: OpenSession; question: Question }) {
  const t = useTexts();
  const { answers, file } = useQuestion(open.id, question);
  const [note, setNote] = useState("");
  const [pattern, setPattern] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);
  const shownAt = useRef(Date.now());
  const kind = kindOf(question.name, question.input);
  const change = useMemo(() => changeOf(question, file?.text ?? null), [question, file]);
  const mayDecide = open.role !== "watch" && open.role !== null;

  const decide = async (decision: ApprovalDecision) => {
    if (isSent || !answers.includes(decision)) return;
    setSent(true);
    const keeps = decision === "session" || decision === "always";
    const rule = keeps && pattern !== null ? withPattern(question.suggested, pattern) : undefined;
    const done = await approve(open.id, question.tool_call_id, decision, decision === "deny" ? note : undefined, rule);
    if (done === null) setSent(false);
  };

  useEffect(() => {
    const keys: Record<string, ApprovalDecision> = { KeyY: "once", KeyS: "session", KeyA: "always", KeyN: "deny" };
    const pressed = (event: KeyboardEvent) => {
      const decision = event.altKey && !event.repeat ? keys[event.code] : undefined;
      if (!decision || Date.now() - shownAt.current < KEYS_AFTER_MS) return;
      event.preventDefault();
      void decide(decision);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });

  const title = kind === "command" ? "wantsCommand" : change ? "wantsToChange" : "wantsToRun";
  const keepsRule = answers.includes("session") || answers.includes("always");
  return (
    <div className="space-y-3">
      <h2 className="flex items-center gap-2 font-semibold">
        <Shield size={18} className="text-warn" />
        {t(title, { tool: question.name })}
      </h2>
      <div className="max-h-[38vh] overflow-y-auto">
        {change ? (
          <div className="space-y-2">
            <p className="font-mono text-xs text-soft">{file?.leads_to ?? change.path}</p>
            {file?.withheld ? (
              <p className="text-sm text-warn">{t("fileWithheld", { why: file.withheld })}</p>
            ) : (
              <Diff rows={change.rows} />
            )}
          </div>
        ) : kind === "command" ? (
          <pre className="rounded-md border border-line bg-sunk px-3 py-2 font-mono text-sm break-words whitespace-pre-wrap">
            {String((question.input as { command: string }).command)}
          </pre>
        ) : (
          <Arguments input={question.input} />
        )}
      </div>
      <p className="text-sm text-soft">{question.reason}</p>
      {mayDecide && (
        <>
          {keepsRule && (
            <KeptRule rule={question.suggested} pattern={pattern} setPattern={setPattern} />
          )}
          {answers.length === 1 && <p className="text-sm text-soft">{t("mayNotAllow")}</p>}
          <div className="flex flex-wrap items-center gap-2">
            {answers.includes("once") && (
              <Button look="main" disabled={isSent} onClick={() => void decide("once")} title="Alt+Y">
                {t("allowOnce")}
              </Button>
            )}
            {answers.includes("session") && (
              <Button disabled={isSent} onClick={() => void decide("session")} title="Alt+S">
                {t("allowSession")}
              </Button>
            )}
            {answers.includes("always") && (
              <Button disabled={isSent} onClick={() => void decide("always")} title="Alt+A">
                {t("allowAlways")}
              </Button>
            )}
            <span className="flex basis-full items-center gap-2 sm:min-w-48 sm:flex-1 sm:basis-0">
              <input
                value={note}
                onChange={(event) => setNote(event.target.value)}
                onKeyDown={(event) => event.key === "Enter" && note !== "" && void decide("deny")}
                placeholder={t("denyNote")}
                aria-label={t("denyNote")}
                className="h-9 min-w-0 flex-1 rounded-md border border-line bg-page px-3 text-sm placeholder:text-faint"
              />
              <Button look="bad" disabled={isSent} onClick={() => void decide("deny")} title="Alt+N">
                {t("deny")}
              </Button>
            </span>
          </div>
        </>
      )}
    </div>
  );
}

function KeptRule({
  rule,
  pattern,
  setPattern,
}: {
  rule: Rule;
  pattern: string | null;
  setPattern: (pattern: string | null) => void;
}) {
  const t = useTexts();
  const words = [rule.effect, rule.tool].join(" ");
  const part = pattern ?? rule.argument ?? rule.path ?? "";
  return (
    <div className="text-xs text-faint">
      {t("ruleKept")}:{" "}
      <span className="font-mono text-soft">
        {words} {pattern === null && part !== "" && `“${part}”`}
      </span>
      {rule.workspace && pattern === null && <span className="ml-1">{t("ruleAnd", { where: rule.workspace })}</span>}
      {pattern === null ? (
        <button type="button" className="ml-2 text-accent" onClick={() => setPattern(part)}>
          {t("editRule")}
        </button>
      ) : (
        <input
          autoFocus
          value={pattern}
          onChange={(event) => setPattern(event.target.value)}
          aria-label={t("editRule")}
          className="mt-1 block h-8 w-full rounded-md border border-line bg-page px-2 font-mono"
        />
      )}
    </div>
  );
}

function withPattern(rule: Rule, pattern: string): Rule {
  return rule.path != null && rule.argument == null ? { ...rule, path: pattern } : { ...rule, argument: pattern };
}

/** Returns the change that a call would make to the file as it is now. */
function changeOf(question: Question, before: string | null) {
  if (kindOf(question.name, question.input) !== "change") return null;
  const fields = (question.input ?? {}) as Record<string, unknown>;
  const path = String(fields.path ?? fields.file_path ?? "");
  const whole = before ?? "";
  if (typeof fields.content === "string") return { path, rows: compareTexts(whole, fields.content) };
  const { old_string: old, new_string: fresh } = fields;
  if (typeof old !== "string" || typeof fresh !== "string") return null;
  if (before === null || !before.includes(old)) return { path, rows: compareTexts(old, fresh) };
  const after = fields.replace_all === true ? before.split(old).join(fresh) : before.replace(old, () => fresh);
  return { path, rows: compareTexts(before, after) };
}

/** A question of the model, of a tool, or a plan. */
function Asked({ open, question }: { open: OpenSession; question: Question }) {
  const t = useTexts();
  const [isSent, setSent] = useState(false);
  const { answers } = useQuestion(open.id, question);
  const asked = question.question;
  const { form } = question;
  const { message, url } = (question.input ?? {}) as { message?: unknown; url?: unknown };
  const choices = asked?.is_plan ? [] : (asked?.choices ?? []);

  const reply = async (answer: string | null) => {
    if (isSent) return;
    setSent(true);
    if (asked?.is_plan && answer === ACCEPT_PLAN) await command(open.id, "change", { change: { plan_mode: false } });
    const decision: ApprovalDecision = answer === null ? "deny" : "once";
    if ((await approve(open.id, question.tool_call_id, decision, answer ?? undefined)) === null) setSent(false);
  };

  const mayAnswer = open.role !== "watch" && open.role !== null && answers.includes("once");
  return (
    <div className="space-y-3">
      <h2 className="flex items-center gap-2 text-sm font-semibold text-soft">
        <Ask size={18} className="text-accent" />
        {t(asked?.is_plan ? "planReady" : form != null ? "formAsks" : "theAgentAsks", { tool: question.name })}
      </h2>
      <div className="max-h-[42vh] overflow-y-auto">
        {asked?.is_plan ? (
          <Markdown text={asked.question} />
        ) : (
          <p className="break-words whitespace-pre-wrap">
            {asked?.question ?? (typeof message === "string" ? message : question.reason)}
          </p>
        )}
        {form != null && <p className="mt-1 text-xs text-faint">{question.reason}</p>}
      </div>
      {form != null && typeof url === "string" && <Address url={url} />}
      {form != null && <Form schema={form} isDisabled={!mayAnswer || isSent} reply={(answer) => void reply(answer)} />}
      {choices.length > 0 && (
        <div className="flex flex-col gap-2 sm:flex-row sm:flex-wrap">
          {choices.map((choice, at) => (
            <Button key={choice} disabled={!mayAnswer || isSent} onClick={() => void reply(choice)}>
              <Kbd>{at + 1}</Kbd> {choice}
            </Button>
          ))}
        </div>
      )}
      {form == null && <Words isPlan={asked?.is_plan === true} mayAnswer={mayAnswer && !isSent} reply={reply} />}
    </div>
  );
}

interface WordsProps {
  isPlan: boolean;
  mayAnswer: boolean;
  reply: (answer: string | null) => Promise<void>;
}

/** An answer in words; for a plan, what to change, or that it is accepted as it is. */
function Words({ isPlan, mayAnswer, reply }: WordsProps) {
  const t = useTexts();
  const [words, setWords] = useState("");
  const label = t(isPlan ? "whatToChange" : "yourAnswer");
  return (
    <form
      className="flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim() !== "") void reply(words);
      }}
    >
      {isPlan && (
        <Button look="main" disabled={!mayAnswer} onClick={() => void reply(ACCEPT_PLAN)}>
          {t("acceptPlan")}
        </Button>
      )}
      <input
        value={words}
        onChange={(event) => setWords(event.target.value)}
        placeholder={label}
        aria-label={label}
        className="h-9 min-w-40 flex-1 rounded-md border border-line bg-page px-3 text-sm placeholder:text-faint"
      />
      <Button type="submit" look={isPlan ? "plain" : "main"} disabled={!mayAnswer || words.trim() === ""}>
        {t("answer")}
      </Button>
      <Button look="quiet" disabled={!mayAnswer} onClick={() => void reply(null)}>
        {t("noAnswer")}
      </Button>
    </form>
  );
}

/** An address that a server wants opened: where it leads stands there in full. */
function Address({ url }: { url: string }) {
  const target = webAddress(url);
  return (
    <p className="rounded-md border border-line bg-sunk px-3 py-2 font-mono text-xs break-all">
      {target ? (
        <a href={target} target="_blank" rel="noopener noreferrer nofollow" className="text-accent underline">
          {url}
        </a>
      ) : (
        url
      )}
    </p>
  );
}
