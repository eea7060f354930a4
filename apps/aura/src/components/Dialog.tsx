// A panel above the page, which it darkens. Escape and a click beside the panel close it, and the focus goes
// back to where it was.
import type { HTMLMotionProps } from "motion/react";
import * as m from "motion/react-m";
import { useEffect, useRef } from "react";
import { closePanel } from "../store/app";

type DialogProps = HTMLMotionProps<"div"> & {
  label: string;
  /** The classes of the darkened page: the place of the panel. */
  around: string;
  /** The seconds in which the page darkens. */
  duration?: number;
};

export function Dialog({ label, around, duration = 0.12, ...panel }: DialogProps) {
  const box = useRef<HTMLDivElement>(null);
  // A field of the panel may take the focus before the effect runs.
  const before = useRef(document.activeElement);
  useEffect(() => {
    const element = before.current;
    if (!box.current?.contains(document.activeElement)) box.current?.focus();
    return () => {
      if (element instanceof HTMLElement) element.focus();
    };
  }, []);
  return (
    <m.div
      className={`fixed inset-0 ${around}`}
      style={{ backgroundColor: "rgb(0 0 0 / 0.3)" }}
      initial={{ opacity: 0 }}
      animate={{ opacity: 1 }}
      exit={{ opacity: 0 }}
      transition={{ duration }}
      onMouseDown={closePanel}
    >
      <m.div
        ref={box}
        role="dialog"
        aria-modal="true"
        aria-label={label}
        tabIndex={-1}
        onMouseDown={(event) => event.stopPropagation()}
        onKeyDown={(event) => event.key === "Escape" && closePanel()}
        {...panel}
      />
    </m.div>
  );
}
