// Markdown: what it shows, and that no text becomes HTML.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { compareTexts, parseDiff } from "../src/components/Diff";
import { highlight } from "../src/components/highlight";
import { ScrollBox } from "../src/components/Far";
import { Markdown, NOTHING, read, unescaped, webAddress } from "../src/components/Markdown";
import { outputOf, summary } from "../src/components/tool";
import { inChunks } from "../src/components/Transcript";
import type { Item } from "../src/store/conversation";
import { TABLE } from "../src/texts/table";

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

describe("a text of a model", () => {
  test.each([
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onclick=alert(1)>b</b>",
    "<svg/onload=alert(1)>",
    "| a |\n| --- |\n| <iframe src=javascript:alert(1)> |",
    "- <style>*{display:none}</style>",
    "# <a href='javascript:alert(1)'>x</a>",
  ])("shows HTML as it stands: %s", (text) => {
    const shown = html(text);
    expect(shown).not.toMatch(/<(script|img|b|svg|iframe|style|a)[\s>/]/);
    expect(shown).toContain("&lt;");
  });

  test.each(["javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "//evil.example", "/v1/me", "java\nscript:x"])(
    "links only to the web, not to %s",
    (address) => {
      expect(webAddress(address)).toBeNull();
      expect(html(`[x](<${address.replace("\n", "")}>)`)).not.toContain("href");
    },
  );

  test("links to the web without telling where from", () => {
    expect(html("[docs](https://example.org/a?b=c)")).toContain(
      'href="https://example.org/a?b=c" target="_blank" rel="noopener noreferrer nofollow"',
    );
  });

  test("fetches no picture", () => {
    const shown = html("![a chart](https://example.org/a.png)");
    expect(shown).not.toContain("<img");
    expect(shown).toContain(">a chart</a>");
  });

  test("has headings, lists, tables and code", () => {
    const shown = html("# A\n\n1. *b*\n2. `c<d`\n\n| x | y |\n| --- | ---: |\n| 1 | 2 |\n\n```rust\nfn f() {}\n```\n\n- [x] done");
    for (const part of ["<h2", "<ol>", "<em>b</em>", "<code>c&lt;d</code>", "<th", "text-right", "keyword", 'type="checkbox"']) {
      expect(shown).toContain(part);
    }
  });

  test("has its signs once, however they are written", () => {
    expect(html("a & b &amp; c < d &lt; \\* &#x4f60;")).toContain("a &amp; b &amp; c &lt; d &lt; * 你");
    expect(unescaped("&nope; &#0; &#x110000;")).toBe("&nope; &#0; &#x110000;");
  });

  test("is the same at its end, wherever it was cut while it came", () => {
    const text = "# A\n\nb **c**\n\n- d\n  - e\n\n- f\n\n| g | h |\n| --- | --- |\n| i | j |\n\n```js\nlet k = 1;\n\n// l\n```\n\n> m\n> n\n\no";
    for (let cut = 1; cut < text.length; cut++) expect(() => html(text.slice(0, cut))).not.toThrow();
    expect(html(text)).toContain("<li>");
  });
});

test("a long answer keeps every word, though only its text stays of what is finished", () => {
  const paragraph = "# H\n\n**a** b\n\n- c\n- d\n\n| e | f |\n| --- | --- |\n| g | h |\n\n```js\nlet i;\n```\n\n";
  const text = paragraph.repeat(60);
  let state = NOTHING;
  for (let cut = 7; cut < text.length + 7; cut += 7) state = read(text.slice(0, cut), state);
  expect(state.groups.join("") + state.blocks.map((block) => block.raw).join("")).toBe(text);
  expect(state.groups.length).toBeGreaterThan(7);
  expect(state.blocks.length).toBeLessThan(66);
  const parts = [...state.groups, state.blocks.map((block) => block.raw).join("")];
  expect(parts.map(html).join("").match(/<td/g)).toHaveLength(120);
});

test("what is far away is drawn only where something scrolls", () => {
  const long = Array.from({ length: 700 }, (_, at) => `paragraph ${at}`).join("\n\n");
  expect(html(long)).toContain("paragraph 0");
  const inBox = renderToStaticMarkup(<ScrollBox value={null}><Markdown text={long} /></ScrollBox>);
  expect(inBox).not.toContain("paragraph 0");
  expect(inBox).toContain("paragraph 699");
});

test("chunks of a conversation stay when earlier entries are added", () => {
  const all = Array.from({ length: 3000 }, (_, at) => ({ kind: "input", key: `k${at}`, seq: at * 97 }) as Item);
  const whole = inChunks(all);
  expect(whole.flat()).toEqual(all);
  expect(whole.length).toBeGreaterThan(40);
  expect(Math.max(...whole.map((chunk) => chunk.length))).toBeLessThan(300);
  expect(inChunks(all.slice(1500)).slice(1)).toEqual(whole.slice(1 - inChunks(all.slice(1500)).length));
});

describe("a change", () => {
  test("is read from a unified diff", () => {
    const rows = parseDiff("--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-tow\n+two\n three\n");
    expect(rows.map((row) => `${row.kind} ${row.number} ${row.text}`)).toEqual([
      "same 1 one",
      "removed 2 tow",
      "added 2 two",
      "same 3 three",
    ]);
  });

  test("is made from two texts, with a few lines around it", () => {
    const before = Array.from({ length: 30 }, (_, at) => `line ${at}`).join("\n");
    const after = before.replace("line 10", "line ten").replace("line 25\n", "");
    const rows = compareTexts(before, after);
    expect(rows.filter((row) => row.kind !== "same").map((row) => `${row.kind} ${row.text}`)).toEqual([
      "removed line 10",
      "added line ten",
      "gap ",
      "removed line 25",
    ]);
    expect(compareTexts("", "a\nb").map((row) => row.kind)).toEqual(["added", "added"]);
    expect(compareTexts("a", "a")).toEqual([]);
  });
});

test("code keeps every character when it is coloured", () => {
  const code = 'fn f() { // "x"\n  let a = "b\\"c"; /* d */ 1.5\n}\n\'e\' `f';
  for (const language of ["rust", "python", "sql", "text", ""]) {
    expect(highlight(code, language).map((piece) => piece.text).join("")).toBe(code);
  }
});

test("a call is summed up by its telling argument", () => {
  expect(summary({ command: "ls\nrm" }, "/w")).toBe("ls");
  expect(summary({ path: "/w/src/a.rs", limit: 3 }, "/w")).toBe("src/a.rs");
  expect(summary({ urls: ["https://a", "https://b"] }, "")).toBe("https://a, https://b");
  expect(summary(null, "")).toBe("");
});

test("output is what a terminal would show", () => {
  const call = { output: [{ channel: "stdout", text: "\u001b[31mred\u001b[0m\n10%\r20%\rdone\n" }] };
  expect(outputOf(call as Parameters<typeof outputOf>[0])).toBe("red\ndone\n");
});

describe("the texts", () => {
  test.each(Object.entries(TABLE))("%s has every language, with the same values", (_, row) => {
    const values = (text: string) => [...text.matchAll(/\{\w+\}/g)].map((match) => match[0]).sort();
    for (const text of row) {
      expect(text.trim()).not.toBe("");
      expect(values(text)).toEqual(values(row[0]));
    }
  });
});
