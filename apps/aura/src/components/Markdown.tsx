// Markdown as React elements, made from the tokens of `marked`. No HTML is ever made from text: what a model
// writes as HTML is shown as it stands, and links lead only to the web or to mail.
import { Marked, type Token, type Tokens } from "marked";
import { createContext, Fragment, memo, use, useMemo, useRef, type ReactNode } from "react";
import { Code } from "./Code";
import { Far } from "./Far";
import { copied } from "./format";

const marked = new Marked({ gfm: true, breaks: true });

/** Markdown that may grow: finished blocks are neither read nor drawn again. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const { groups, blocks, depth } = useGroups(text);
  const isShort = groups.length <= KEPT_GROUPS;
  return (
    <FirstDepth value={depth ?? 1}>
      <div className="prose">
        {groups.map((raw, at) => (
          <Far key={at} guess={GROUP_PX} isKept={isShort} className="prose">
            <Group raw={raw} />
          </Far>
        ))}
        <div className="prose">
          {blocks.map((token, at) => (
            <Block key={at} raw={token.raw} token={token} />
          ))}
        </div>
      </div>
    </FirstDepth>
  );
});

/** Blocks that are drawn together, and left out together when a long answer has scrolled away. */
const GROUP = 60;
const GROUP_PX = 2000;
/** An answer of so many groups stays in the page as a whole. */
const KEPT_GROUPS = 4;

const Group = memo(function Group({ raw }: { raw: string }) {
  const tokens = useMemo(() => marked.lexer(raw), [raw]);
  return tokens.map((token, at) => <Block key={at} raw={token.raw} token={token} />);
});

/** The depth of the first heading of a text: it becomes the heading below that of the page. */
const FirstDepth = createContext(1);

/** A text as far as it is read. */
interface Read {
  text: string;
  /** The beginning, as groups of blocks: only their text is kept. */
  groups: string[];
  /** How much of the text is in the groups. */
  settled: number;
  blocks: Token[];
  depth: number | null;
}

export const NOTHING: Read = { text: "", groups: [], settled: 0, blocks: [], depth: null };

/**
 * Returns the blocks of a text. When the text before has only grown, its blocks but the last two stay: a
 * following line may still join those, as with a list or a table.
 */
function useGroups(text: string): Read {
  const before = useRef(NOTHING);
  return useMemo(() => {
    const last = before.current;
    const hasGrown = text.length > last.text.length && text.startsWith(last.text);
    const grown = read(text, hasGrown ? last : NOTHING);
    // The lexer rewrites tabs and line ends in rare texts; then the lengths differ, and all is read again.
    const isWhole = grown.settled + lengthOf(grown.blocks) === text.length;
    const found = isWhole ? grown : read(text, NOTHING);
    before.current = isWhole ? found : NOTHING;
    return found;
  }, [text]);
}

/** Reads a text of which the beginning was read before. */
export function read(text: string, last: Read): Read {
  const kept = last.blocks.slice(0, -2);
  const fresh = marked.lexer(copied(text.slice(last.settled + lengthOf(kept))));
  const blocks = [...kept, ...fresh];
  const groups = [...last.groups];
  let { settled } = last;
  while (blocks.length > GROUP + 2) {
    const raw = blocks.splice(0, GROUP).map((block) => block.raw).join("");
    groups.push(copied(raw));
    settled += raw.length;
  }
  const heading = fresh.find((block) => block.type === "heading") as Tokens.Heading | undefined;
  return { text, groups, settled, blocks, depth: last.depth ?? heading?.depth ?? null };
}

function lengthOf(blocks: Token[]): number {
  return blocks.reduce((length, block) => length + block.raw.length, 0);
}

const Block = memo(
  function Block({ token }: { raw: string; token: Token }) {
    return <>{block(token)}</>;
  },
  (before, after) => before.raw === after.raw && before.token.type === after.token.type,
);

function block(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <Heading token={token as Tokens.Heading} />;
    case "paragraph":
      return <p>{inlines((token as Tokens.Paragraph).tokens)}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inlines(tokens) : text;
    }
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return <Code code={text} language={lang?.split(/\s/)[0] ?? ""} />;
    }
    case "blockquote":
      return <blockquote className="prose">{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    default:
      return <p className="whitespace-pre-wrap">{token.raw.trim()}</p>;
  }
}

function blocks(tokens: Token[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{block(token)}</Fragment>);
}

/** A heading, one level below that of the page if it is the first of its text; it looks as it was written. */
function Heading({ token }: { token: Tokens.Heading }) {
  const level = Math.max(0, token.depth - use(FirstDepth));
  const Tag = (["h2", "h3", "h4", "h5", "h6"] as const)[level] ?? "h6";
  const size = token.depth === 1 ? "text-xl" : token.depth === 2 ? "text-lg" : "";
  return <Tag className={`font-semibold tracking-tight ${size}`}>{inlines(token.tokens)}</Tag>;
}

function list(token: Tokens.List): ReactNode {
  const Tag = token.ordered ? "ol" : "ul";
  return (
    <Tag start={token.ordered && token.start !== 1 ? Number(token.start) : undefined}>
      {token.items.map((item, at) => (
        <li key={at} className={item.task ? "task" : undefined}>
          {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly disabled className="mr-2 accent-current" />}
          {blocks(item.tokens.filter((part) => part.type !== "checkbox"))}
        </li>
      ))}
    </Tag>
  );
}

function table(token: Tokens.Table): ReactNode {
  const align = (at: number) => (token.align[at] === "right" ? "text-right" : token.align[at] === "center" ? "text-center" : "");
  return (
    <div className="overflow-x-auto" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, at) => (
              <th key={at} scope="col" className={align(at)}>
                {inlines(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} className={align(column)}>
                  {inlines(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: Token[] | undefined): ReactNode {
  return (tokens ?? []).map((token, at) => <Fragment key={at}>{inline(token)}</Fragment>);
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inlines((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inlines((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{inlines((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens, title } = token as Tokens.Link;
      return <Outside href={href} title={title ?? undefined}>{inlines(tokens)}</Outside>;
    }
    // Pictures would be fetched from elsewhere; a link says where they are.
    case "image": {
      const { href, text } = token as Tokens.Image;
      return <Outside href={href}>{text || href}</Outside>;
    }
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inlines(tokens) : unescaped(text);
    }
    case "escape":
      return (token as Tokens.Escape).text;
    default:
      return token.raw;
  }
}

function Outside({ href, title, children }: { href: string; title?: string; children: ReactNode }) {
  const target = webAddress(href);
  if (!target) return <>{children}</>;
  return (
    <a href={target} title={title} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** Returns an address that a link may lead to; `null` for scripts, files and everything else. */
export function webAddress(href: string): string | null {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: "\u00a0", apos: "'" };

/** Returns a text with its character references replaced, as Markdown has them. */
export function unescaped(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|\w{2,6});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return NAMED[name.toLowerCase()] ?? whole;
    const code = name[1]?.toLowerCase() === "x" ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
