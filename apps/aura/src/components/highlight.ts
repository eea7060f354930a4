// Colours for code: comments, texts, numbers and the words of many languages. One pass over the text, with no
// grammar; what it does not know stays plain.
export type Kind = "comment" | "string" | "number" | "keyword" | "plain";

export interface Piece {
  kind: Kind;
  text: string;
}

const WORDS = new Set(
  `abstract as async await bool boolean break case catch char class const continue crate def default defer del
  do double elif else end enum except export extends extern false final finally float fn for foreach from func
  function global go goto if impl implements import in inline instanceof int interface is lambda let local long
  loop match mod module move mut namespace new nil none None not null of or override package pass print private
  protected pub public raise ref repeat return self Self short sizeof static str string struct super switch
  table then this throw throws trait true True False try type typedef typeof undefined union unless unsafe
  until use using val var virtual void when where while with yield SELECT FROM WHERE INSERT INTO VALUES UPDATE
  SET DELETE CREATE TABLE JOIN LEFT INNER ON GROUP BY ORDER LIMIT AND OR NOT NULL AS echo fi done esac export`.split(
    /\s+/,
  ),
);

/** Languages in which `#` begins a comment. */
const HASH = /^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|make|makefile|dockerfile|r|perl|pl|conf|ini)$/i;
/** Languages in which `--` does. */
const DASHES = /^(sql|lua|luau|haskell|hs|ada)$/i;
/** Texts that are not code. */
const PLAIN = /^(text|txt|plain|log|output|md|markdown)?$/i;
/** Code that is longer is shown without colours. */
const MOST_CHARS = 60_000;

export function highlight(code: string, language: string): Piece[] {
  if (PLAIN.test(language) || code.length > MOST_CHARS) return [{ kind: "plain", text: code }];
  const comment = HASH.test(language) ? "#[^\\n]*" : DASHES.test(language) ? "--[^\\n]*" : "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)";
  const pattern = new RegExp(
    `(${comment})|("(?:\\\\.|[^"\\\\\\n])*"?|\`(?:\\\\.|[^\`\\\\])*\`?|'(?:\\\\.|[^'\\\\\\n])*')|(\\b\\d[\\w.]*\\b)|([A-Za-z_]\\w*)`,
    "g",
  );
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of code.matchAll(pattern)) {
    const kind: Kind = match[1]
      ? "comment"
      : match[2]
        ? "string"
        : match[3]
          ? "number"
          : WORDS.has(match[0])
            ? "keyword"
            : "plain";
    if (kind === "plain") continue;
    if (match.index > from) pieces.push({ kind: "plain", text: code.slice(from, match.index) });
    pieces.push({ kind, text: match[0] });
    from = match.index + match[0].length;
  }
  if (from < code.length) pieces.push({ kind: "plain", text: code.slice(from) });
  return pieces;
}
