// A block of code, with its language and a button that copies it.
import { memo } from "react";
import { highlight } from "./highlight";
import { CopyButton } from "./parts";

export const Code = memo(function Code({ code, language }: { code: string; language: string }) {
  return (
    <figure className="relative overflow-hidden rounded-lg border border-line bg-raised">
      {language ? (
        <figcaption className="flex h-8 items-center justify-between border-b border-line pr-1 pl-3 text-xs text-faint">
          <span>{language}</span>
          <CopyButton text={code} />
        </figcaption>
      ) : (
        <CopyButton text={code} className="absolute top-1 right-1 bg-raised" />
      )}
      {/* Long lines scroll, so the keyboard must reach the block. */}
      <pre className="code overflow-x-auto px-3 py-2.5 font-mono text-sm" tabIndex={0}>
        <code>
          {highlight(code, language).map((piece, at) =>
            piece.kind === "plain" ? (
              piece.text
            ) : (
              <span key={at} className={piece.kind}>
                {piece.text}
              </span>
            ),
          )}
        </code>
      </pre>
    </figure>
  );
});
