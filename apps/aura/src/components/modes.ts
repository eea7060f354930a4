// The approval modes as people choose them: those of the configuration, and plan mode among them.
import type { SessionState } from "../connection/http";

/** The modes, as the terminal orders them; `auto` stands before `deny`. */
export const MODES = ["ask", "accept_edits", "plan", "auto", "deny"] as const;

export type Mode = (typeof MODES)[number];

type Config = Pick<SessionState["config"], "approval" | "plan_mode">;

/** Returns the mode that is on. */
export function modeOf(config: Config | null): Mode | null {
  if (config?.plan_mode) return "plan";
  return MODES.find((one) => one === config?.approval) ?? null;
}

/**
 * Returns the changes that lead to a mode, in the order in which they are asked for, as Shift-Tab in the
 * terminal does: plan mode ends after the mode itself was allowed, and begins without `accept_edits`, so that
 * an accepted plan is carried out with questions.
 */
export function stepsTo(mode: Mode, config: Config | null): Record<string, unknown>[] {
  if (mode === "plan") {
    const isEditing = config?.approval === "accept_edits";
    return [...(isEditing ? [{ approval: "ask" }] : []), { plan_mode: true }];
  }
  return [{ approval: mode }, ...(config?.plan_mode ? [{ plan_mode: false }] : [])];
}
