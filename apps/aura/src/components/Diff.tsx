// A unified diff with line numbers, and one made from two texts for a change that waits for a decision.
import { memo, useState } from "react";
import { useTexts } from "../texts";

interface Row {
  kind: "same" | "added" | "removed" | "gap";
  number: number | null;
  text: string;
}

/** Rows that are shown before the rest is asked for. */
const FIRST_ROWS = 60;

export function parseDiff(diff: string): Row[] {
  const rows: Row[] = [];
  let before = 0;
  let after = 0;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      if (rows.length > 0) rows.push({ kind: "gap", number: null, text: "" });
      before = Number(hunk[1]);
      after = Number(hunk[2]);
    } else if (line.startsWith("---") || line.startsWith("+++") || line.startsWith("\\")) continue;
    else if (line.startsWith("+")) rows.push({ kind: "added", number: after++, text: line.slice(1) });
    else if (line.startsWith("-")) rows.push({ kind: "removed", number: before++, text: line.slice(1) });
    else {
      rows.push({ kind: "same", number: after++, text: line.slice(1) });
      before += 1;
    }
  }
  return rows;
}

/** Lines beyond which two texts are shown as removed and added as a whole. */
const MOST_LINES = 1500;

/** Returns the rows of a change from one text to another, with three lines around each difference. */
export function compareTexts(before: string, after: string): Row[] {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const rows: Row[] = [];
  for (let at = 0; at < start; at++) rows.push({ kind: "same", number: at + 1, text: a[at] ?? "" });
  middle(a.slice(start, a.length - end), b.slice(start, b.length - end), start, rows);
  for (let at = end; at > 0; at--) {
    rows.push({ kind: "same", number: b.length - at + 1, text: b[b.length - at] ?? "" });
  }
  return around(rows, 3);
}

/** Adds the rows between the common beginning and the common end: a longest common subsequence. */
function middle(a: string[], b: string[], start: number, rows: Row[]): void {
  const isLarge = a.length > MOST_LINES || b.length > MOST_LINES;
  const width = b.length + 1;
  const common = isLarge ? null : new Uint16Array((a.length + 1) * width);
  if (common) {
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        const at = i * width + j;
        common[at] =
          a[i] === b[j]
            ? (common[at + width + 1] ?? 0) + 1
            : Math.max(common[at + width] ?? 0, common[at + 1] ?? 0);
      }
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const down = common?.[(i + 1) * width + j] ?? 0;
    const right = common?.[i * width + j + 1] ?? 0;
    if (common && i < a.length && j < b.length && a[i] === b[j]) {
      rows.push({ kind: "same", number: start + j + 1, text: b[j] ?? "" });
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || down >= right)) {
      rows.push({ kind: "removed", number: start + i + 1, text: a[i] ?? "" });
      i += 1;
    } else {
      rows.push({ kind: "added", number: start + j + 1, text: b[j] ?? "" });
      j += 1;
    }
  }
}

function around(rows: Row[], lines: number): Row[] {
  const near = new Set<number>();
  rows.forEach((row, at) => {
    if (row.kind === "same") return;
    for (let other = at - lines; other <= at + lines; other++) near.add(other);
  });
  const kept: Row[] = [];
  rows.forEach((row, at) => {
    if (near.has(at)) kept.push(row);
    else if (kept.length > 0 && kept.at(-1)?.kind !== "gap") kept.push({ kind: "gap", number: null, text: "" });
  });
  if (kept.at(-1)?.kind === "gap") kept.pop();
  return kept;
}

const SIGNS = { same: " ", added: "+", removed: "−", gap: " " };
const LOOKS = {
  same: "",
  added: "bg-good-soft text-good",
  removed: "bg-bad-soft text-bad",
  gap: "text-faint",
};

export const Diff = memo(function Diff({ rows }: { rows: Row[] }) {
  const t = useTexts();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, FIRST_ROWS);
  const rest = rows.length - shown.length;
  return (
    <div className="overflow-x-auto rounded-md border border-line bg-raised py-1 font-mono text-xs" tabIndex={0}>
      <table className="min-w-full border-collapse">
        <tbody>
          {shown.map((row, at) => (
            <tr key={at} className={LOOKS[row.kind]}>
              <td className="w-10 px-2 text-right text-soft select-none tabular-nums">{row.kind === "gap" ? "⋮" : row.number}</td>
              <td className="w-4 select-none" aria-label={row.kind === "added" ? "+" : row.kind === "removed" ? "-" : undefined}>
                {SIGNS[row.kind]}
              </td>
              <td className="pr-3 whitespace-pre">{row.text || " "}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && (
        <button type="button" className="px-3 py-1 font-sans text-accent" onClick={() => setWhole(true)}>
          {t("moreLines", { count: rest })}
        </button>
      )}
    </div>
  );
});
