// What components ask about the open session.
import { useEffect, useMemo, useState } from "react";
import type { FileInQuestion, PendingApproval, SessionState } from "../connection/http";
import type { ApprovalDecision } from "../protocol";
import { useApp, type OpenSession } from "../store/app";
import { runningCalls, standing, type Conversation, type Question } from "../store/conversation";
import { useTexts, type TextKey } from "../texts";
import { http } from "./wiring";

/** Returns how a session stands, in words; the rest of a wait counts down. */
export function useStanding(state: Conversation): { key: ReturnType<typeof standing>; words: string } {
  const t = useTexts();
  const key = standing(state);
  const until = state.activity.kind === "waiting" ? state.activity.until : null;
  const seconds = useSecondsUntil(key === "limit" ? until : null);
  const words = useMemo(() => {
    if (key === "calling") {
      const running = runningCalls(state);
      const first = running[0];
      if (running.length > 1) return t("st_callingMany", { count: running.length });
      return first ? t("st_calling", { tool: first.name }) : t("st_thinking");
    }
    if (key === "limit" && seconds) return t("st_limitFor", { seconds });
    return t(`st_${key}` as TextKey);
  }, [key, seconds, state, t]);
  return { key, words };
}

/** Returns the seconds until a time (milliseconds since 1970), each second anew. */
export function useSecondsUntil(until: number | null): number | null {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (until === null) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [until]);
  return until === null ? null : Math.max(0, Math.ceil((until - now) / 1000));
}

const EVERY_ANSWER: ApprovalDecision[] = ["once", "session", "always", "deny"];

/** Returns the answers to a question that this person may give, and the file that the call would change. */
export function useQuestion(session: string, question: Question) {
  const [pending, setPending] = useState<PendingApproval | null>(null);
  const [file, setFile] = useState<FileInQuestion | null>(null);
  const isOnline = useApp((state) => state.connection === "online");
  const call = question.tool_call_id;
  useEffect(() => {
    if (!isOnline) return;
    let isCurrent = true;
    const path = `/v1/sessions/${session}`;
    void http()
      .get<SessionState>(`${path}/state`)
      .then((state) => {
        const found = state.pending_approvals.find((one) => one.tool_call_id === call);
        if (isCurrent && found) setPending(found);
      })
      .catch(() => undefined);
    if (!question.question && !question.form) {
      void http()
        .get<FileInQuestion>(`${path}/file`, { tool_call_id: call })
        .then((found) => isCurrent && setFile(found))
        .catch(() => undefined);
    }
    return () => {
      isCurrent = false;
    };
  }, [session, call, isOnline, question.question, question.form]);
  const answers = (pending?.answers ?? EVERY_ANSWER) as ApprovalDecision[];
  return { answers, file };
}

/** Returns the texts of queued inputs, which only the state of the session has. */
export function useQueuedTexts(session: string, ids: string): Record<string, string> {
  const [texts, setTexts] = useState<Record<string, string>>({});
  useEffect(() => {
    if (ids === "") return;
    let isCurrent = true;
    void http()
      .get<SessionState>(`/v1/sessions/${session}/state`)
      .then((state) => {
        if (isCurrent) setTexts(Object.fromEntries(state.queued as unknown as [string, string][]));
      })
      .catch(() => undefined);
    return () => {
      isCurrent = false;
    };
  }, [session, ids]);
  return texts;
}

/** Returns whether this tab drives, and who else does. */
export function useWheel(open: OpenSession) {
  const me = useApp((state) => state.person?.person ?? null);
  const client = useApp((state) => state.client);
  const seat = open.wheel?.seat ?? null;
  const asked = open.wheel?.asked_by ?? null;
  const isMine = seat !== null && seat.person === me && seat.client === client;
  const mayDrive = open.role === "drive" || open.role === "own";
  return { seat, asked, isMine, isFree: seat === null, isOwnElsewhere: seat?.person === me && !isMine, mayDrive };
}

/** Returns the name of a seat as this person reads it. */
export function useSeatName(): (seat: { person: string; client: string }) => string {
  const t = useTexts();
  const me = useApp((state) => state.person?.person ?? null);
  const client = useApp((state) => state.client);
  return (seat) => {
    if (seat.person !== me) return `${seat.person} (${seat.client})`;
    return seat.client === client ? t("youHere") : t("youAt", { client: seat.client });
  };
}
