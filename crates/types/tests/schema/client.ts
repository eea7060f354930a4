// A client, as far as its compiler is concerned: frames are told apart by their tag, and what makes no sense is an error.
import type {
  ClientFrame,
  ContentPart,
  EnvironmentFrame,
  RuntimeFrame,
  ServerNotice,
  UiFrame,
} from "../../../../docs/protocol/agentx.v1.js";

export function shown(frame: UiFrame): string {
  switch (frame.event) {
    case "text_chunk":
      return frame.payload.chunk;
    case "tool_call_finished":
      return `${frame.seq} ${frame.payload.tool_name}: ${frame.payload.status}`;
    case "run_finished":
      return frame.payload.status;
    default:
      return "";
  }
}

export function words(part: ContentPart): string {
  return part.type === "text" || part.type === "thinking" ? part.text : `[${part.type}]`;
}

export function delta(frame: RuntimeFrame): string | undefined {
  return frame.event === "text_delta" ? frame.payload.text : frame.run_id?.toString();
}

export function model(frame: EnvironmentFrame): string | undefined {
  return frame.event === "session_opened" ? frame.payload.config.model.id : undefined;
}

export function answer(notice: ServerNotice): ClientFrame | undefined {
  if (notice.event === "hello" && notice.payload.visitors) {
    return { type: "authenticate", id: "c1", payload: { client: "page" } };
  }
  return { type: "ping", id: "c2" };
}

export const asked: ClientFrame[] = [
  { type: "subscribe", id: "c3", payload: { session_id: "ses_1", after_seq: 17, view: "ui" } },
  { type: "user_message", id: "c4", payload: { session_id: "ses_1", content: "hi" } },
  { type: "wheel", id: "c5", payload: { session_id: "ses_1", wish: { hand: { person: "own_2", client: "laptop" } } } },
];

// @ts-expect-error A view that there is not.
export const wrong: ClientFrame = { type: "subscribe", id: "c6", payload: { session_id: "ses_1", view: "all" } };
