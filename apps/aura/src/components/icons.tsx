// Icons, drawn with one stroke of one width.
import type { ReactNode } from "react";

function icon(path: ReactNode) {
  return function Icon({ size = 18, className = "" }: { size?: number; className?: string }) {
    return (
      <svg
        viewBox="0 0 24 24"
        width={size}
        height={size}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinecap="round"
        strokeLinejoin="round"
        className={`shrink-0 ${className}`}
        aria-hidden="true"
      >
        {path}
      </svg>
    );
  };
}

/** The sign of the program. */
export function Logo({ size }: { size: number }) {
  return (
    <svg viewBox="0 0 64 64" width={size} height={size} aria-hidden="true" className="shrink-0">
      <rect width="64" height="64" rx="15" fill="#16766c" />
      <path
        d="M20 46 32 18l12 28M25.5 36h13"
        fill="none"
        stroke="#fff"
        strokeWidth="5"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

export const Plus = icon(<path d="M12 5v14M5 12h14" />);
export const Search = icon(<path d="m20 20-4.2-4.2M11 18a7 7 0 1 1 0-14 7 7 0 0 1 0 14Z" />);
export const Menu = icon(<path d="M4 7h16M4 12h16M4 17h10" />);
export const Close = icon(<path d="M6 6l12 12M18 6 6 18" />);
export const Send = icon(<path d="M12 19V5M6 11l6-6 6 6" />);
export const Stop = icon(<rect x="7" y="7" width="10" height="10" rx="2" fill="currentColor" />);
export const Copy = icon(<path d="M9 9h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1ZM5 15V5a1 1 0 0 1 1-1h9" />);
export const Check = icon(<path d="m5 12.5 4.5 4.5L19 7.5" />);
export const Cross = icon(<path d="M7 7l10 10M17 7 7 17" />);
export const Chevron = icon(<path d="m9 6 6 6-6 6" />);
export const Down = icon(<path d="M12 5v14M6 13l6 6 6-6" />);
export const Clock = icon(<path d="M12 7v5l3.2 2M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18Z" />);
export const Wheel = icon(
  <path d="M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18ZM12 14.5a2.5 2.5 0 1 1 0-5 2.5 2.5 0 0 1 0 5ZM3.6 10l6 1.2M20.4 10l-6 1.2M12 14.5V21" />,
);
export const People = icon(
  <path d="M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3 20c0-3.3 2.7-5.5 6-5.5s6 2.2 6 5.5M16 4.3a3.5 3.5 0 0 1 0 6.4M17.5 14.9c2 .7 3.5 2.4 3.5 5.1" />,
);
export const Steer = icon(<path d="M5 19V9a4 4 0 0 1 4-4h10M15 1l4 4-4 4" transform="translate(0 2)" />);
export const Thought = icon(<path d="M12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M5.6 18.4l2.1-2.1M16.3 7.7l2.1-2.1" />);
export const Terminal = icon(<path d="m5 8 4 4-4 4M12 17h7" />);
export const File = icon(<path d="M7 3h7l4 4v13a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM14 3v4h4" />);
export const Pencil = icon(<path d="M4 20h4L19 9l-4-4L4 16v4ZM13 7l4 4" />);
export const Globe = icon(<path d="M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18ZM3 12h18M12 3c2.5 2.6 3.8 5.6 3.8 9s-1.3 6.4-3.8 9c-2.5-2.6-3.8-5.6-3.8-9S9.500 5.600 12 3Z" />);
export const Tool = icon(<path d="M14.5 6.500a4 4 0 0 0-5 5L4 17l3 3 5.500-5.500a4 4 0 0 0 5-5L15 12l-3-3 2.500-2.500Z" />);
export const Ask = icon(<path d="M9.200 9a2.900 2.900 0 1 1 4.300 2.500c-.9.5-1.500 1.200-1.500 2.200v.3M12 17.500v.1M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18Z" />);
export const Shield = icon(<path d="M12 3 5 6v5c0 4.600 2.900 8.300 7 10 4.100-1.700 7-5.400 7-10V6l-7-3Z" />);
export const Dots = icon(<path d="M6 12h.01M12 12h.01M18 12h.01" strokeWidth="3" />);
export const Fork = icon(<path d="M7 4v16M7 9c0 4 10 2 10 6v5M7 4h.01M17 20h.01" />);
export const Bot = icon(<path d="M12 4v3M6 7h12a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1ZM9.500 12v1M14.500 12v1" />);
export const Warning = icon(<path d="M12 4 3 19h18L12 4ZM12 10v4M12 16.800v.1" />);
export const Gear = icon(
  <path d="M12 15.200a3.200 3.200 0 1 1 0-6.400 3.200 3.200 0 0 1 0 6.400ZM12 3v2.300M12 18.700V21M3 12h2.300M18.700 12H21M5.600 5.600l1.700 1.700M16.700 16.700l1.700 1.700M5.600 18.400l1.700-1.700M16.700 7.300l1.700-1.700" />,
);
export const Device = icon(<path d="M4 5h16a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1ZM8 20h8M12 16v4" />);
export const Bell = icon(<path d="M6 10a6 6 0 0 1 12 0c0 5 2 6 2 7H4c0-1 2-2 2-7ZM10 20a2.200 2.200 0 0 0 4 0" />);
export const Pin = icon(<path d="M12 16v5M7 3h10l-1.500 7 2.500 3v3H6v-3l2.500-3L7 3Z" />);
