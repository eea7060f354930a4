// Parts of a long list that are far out of sight: they are taken out of the page, and leave their room.
import { createContext, use, useEffect, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";

/** The element that scrolls; `null` before it is drawn, `undefined` where nothing is left out. */
export const ScrollBox = createContext<HTMLElement | null | undefined>(undefined);

/** A part is there within this distance of what is seen, so that scrolling finds no empty room. */
const NEAR_PX = 2400;

interface FarProps {
  children: ReactNode;
  /** The height of a part that was never seen, in pixels. */
  guess: number;
  /** Parts that change, and the last one, always stay. */
  isKept: boolean;
  className?: string;
}

export function Far({ children, guess, isKept, className }: FarProps) {
  const box = use(ScrollBox);
  const place = useRef<HTMLDivElement>(null);
  const height = useRef(guess);
  const [isNear, setNear] = useState(isKept);
  useEffect(() => {
    const element = place.current;
    if (!element || !box || isKept) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const seen = entries.at(-1);
        if (!seen) return;
        if (!seen.isIntersecting && seen.boundingClientRect.height > 0) height.current = seen.boundingClientRect.height;
        flushSync(() => setNear(seen.isIntersecting));
      },
      { root: box, rootMargin: `${NEAR_PX}px 0px` },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [box, isKept]);
  const isThere = isKept || isNear || box === undefined;
  return (
    <div ref={place} className={className} style={isThere ? undefined : { height: height.current }}>
      {isThere && children}
    </div>
  );
}
