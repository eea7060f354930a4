// Messages of the server while the page is closed (Web Push): this browser's subscription, and the words that
// its service worker shows, because a message has ids alone.
import type { Http } from "./http";

/** How it stands in this browser. `unsupported` is a browser that cannot, or a page that is not installed. */
export type PushState = "unsupported" | "denied" | "off" | "on";

export interface PushWords {
  title: string;
  body: string;
}

/** What the server says: its key, and whether it knows this page's subscription. */
interface PushStatus {
  public_key: string;
  subscribed: boolean;
}

const PATH = "/v1/push";
const CACHE = "aura-page";
const WORDS = "/push-words";

export function isSupported(): boolean {
  return "serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis;
}

export async function pushState(http: Http): Promise<PushState> {
  if (!isSupported()) return "unsupported";
  if (Notification.permission === "denied") return "denied";
  if (!(await own())) return "off";
  return (await http.get<PushStatus>(PATH)).subscribed ? "on" : "off";
}

/** Asks the person, subscribes this browser, and tells the server. Returns how it stands then. */
export async function turnOn(http: Http, words: PushWords): Promise<PushState> {
  if (!isSupported()) return "unsupported";
  if ((await Notification.requestPermission()) !== "granted") return "denied";
  const { public_key } = await http.get<PushStatus>(PATH);
  await keepWords(words);
  await subscribe(http, public_key);
  return "on";
}

export async function turnOff(http: Http): Promise<PushState> {
  await http.delete(PATH);
  await forgetPush();
  return "off";
}

/** Ends the subscription in this browser; nothing of the server reaches it then. */
export async function forgetPush(): Promise<void> {
  if (!isSupported()) return;
  await (await own())?.unsubscribe();
}

/**
 * After signing in: a browser changes its subscription at times, and a server may have lost it or got another
 * key. A browser that is not subscribed stays so.
 */
export async function renew(http: Http, words: PushWords): Promise<void> {
  if (!isSupported() || Notification.permission !== "granted" || !(await own())) return;
  await keepWords(words);
  const { public_key, subscribed } = await http.get<PushStatus>(PATH);
  if (!subscribed || !hasKey(await own(), public_key)) await subscribe(http, public_key);
}

/** Closes the messages about a session, which the person now sees. */
export async function closeMessages(session: string): Promise<void> {
  if (!isSupported()) return;
  const registration = await navigator.serviceWorker.getRegistration();
  for (const message of (await registration?.getNotifications({ tag: session })) ?? []) message.close();
}

async function own(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

async function subscribe(http: Http, publicKey: string): Promise<void> {
  const registration = await navigator.serviceWorker.ready;
  const before = await registration.pushManager.getSubscription();
  // A subscription is bound to the key of its server.
  if (before && !hasKey(before, publicKey)) await before.unsubscribe();
  const made = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytesOf(publicKey),
  });
  const { endpoint, keys } = made.toJSON();
  await http.post<void>(PATH, { endpoint, keys: { p256dh: keys?.p256dh, auth: keys?.auth } });
}

async function keepWords(words: PushWords): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.put(WORDS, new Response(JSON.stringify(words), { headers: { "content-type": "application/json" } }));
}

function hasKey(subscription: PushSubscription | null, publicKey: string): boolean {
  const bound = subscription?.options.applicationServerKey;
  return bound ? base64url(new Uint8Array(bound)) === publicKey : false;
}

/** Reads bytes in base64url. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (one) => one.charCodeAt(0));
}

/** Writes bytes in base64url. */
export function base64url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
