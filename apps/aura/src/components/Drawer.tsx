// A panel that slides in from a side, over the page. Escape and a click beside it close it.
import * as m from "motion/react-m";
import { useEffect, useRef, type ReactNode } from "react";
import { set } from "../store/app";

export function Drawer({ side, label, children }: { side: "left" | "right"; label: string; children: ReactNode }) {
  const panel = useRef<HTMLDivElement>(null);
  const close = () => set({ panel: "none" });
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const away = side === "left" ? "-100%" : "100%";
  return (
    <m.div
      className="fixed inset-0 z-20"
      style={{ backgroundColor: "rgb(0 0 0 / 0.3)" }}
      initial={{ opacity: 0 }}
      animate={{ opacity: 1 }}
      exit={{ opacity: 0 }}
      transition={{ duration: 0.16 }}
      onMouseDown={close}
    >
      <m.div
        ref={panel}
        role="dialog"
        aria-modal="true"
        aria-label={label}
        tabIndex={-1}
        initial={{ x: away }}
        animate={{ x: 0 }}
        exit={{ x: away }}
        transition={{ type: "tween", ease: [0.2, 0.8, 0.2, 1], duration: 0.22 }}
        onMouseDown={(event) => event.stopPropagation()}
        onKeyDown={(event) => event.key === "Escape" && close()}
        className={`absolute inset-y-0 w-[min(20rem,88vw)] bg-side shadow-pop outline-none ${side === "left" ? "left-0" : "right-0"}`}
      >
        {children}
      </m.div>
    </m.div>
  );
}
