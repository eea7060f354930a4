// A panel that slides in from a side, over the page.
import type { ReactNode } from "react";
import { Dialog } from "./Dialog";

export function Drawer({ side, label, children }: { side: "left" | "right"; label: string; children: ReactNode }) {
  const away = side === "left" ? "-100%" : "100%";
  return (
    <Dialog
      label={label}
      around="z-20"
      duration={0.16}
      initial={{ x: away }}
      animate={{ x: 0 }}
      exit={{ x: away }}
      transition={{ type: "tween", ease: [0.2, 0.8, 0.2, 1], duration: 0.22 }}
      className={`absolute inset-y-0 w-[min(20rem,88vw)] bg-side shadow-pop outline-none ${side === "left" ? "left-0" : "right-0"}`}
    >
      {children}
    </Dialog>
  );
}
