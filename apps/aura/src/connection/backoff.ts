// The pause before another attempt to connect.

const FIRST_MS = 250;
const MOST_MS = 30_000;

/** Returns the pause after so many failures: doubled each time, with a random part so that clients spread. */
export function pause(failures: number, random: () => number = Math.random): number {
  const longest = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures, 16));
  return Math.round(longest * (0.5 + random() / 2));
}
