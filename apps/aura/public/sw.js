// Keeps the page itself, so that it opens while the server is away and shows what this browser has stored.
// It never touches the API: only the page, its icons and the files under /assets. The server comes first, so
// that the files always fit together; what is kept is used only when it does not answer.
//
// It also shows the messages of the server while the page is closed. A message has ids alone; the words come
// from the page, which keeps them here in its language (src/connection/push.ts).
const CACHE = "aura-page";
const WORDS = "/push-words";
const SESSION = /^ses_[\w-]{1,64}$/;

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(["/", "/icon.svg"])));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  const isPage = pathname === "/" || pathname.startsWith("/icon") || pathname.startsWith("/assets/");
  if (event.request.method === "GET" && origin === self.location.origin && isPage) {
    event.respondWith(answer(event.request));
  }
});

self.addEventListener("push", (event) => event.waitUntil(show(event.data)));
self.addEventListener("notificationclick", (event) => event.waitUntil(open(event.notification)));

async function answer(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true, ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}

/** Shows that something waits. A browser wants to see something for each message, whatever is in it. */
async function show(data) {
  let session = null;
  try {
    const { session_id } = data.json();
    if (SESSION.test(session_id)) session = session_id;
  } catch {
    // It is not a message of this server: the list of sessions says what waits.
  }
  const kept = await caches.open(CACHE).then((cache) => cache.match(WORDS));
  const { title, body } = kept ? await kept.json() : { title: "AgentX", body: "Something waits for your answer." };
  await self.registration.showNotification(title, {
    body,
    icon: "/icon-192.png",
    badge: "/icon-192.png",
    tag: session ?? "agentx",
    renotify: true,
    data: session ? `/#/${session}` : "/",
  });
}

/** Brings an open page to the session, or opens one. */
async function open(notification) {
  notification.close();
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find((one) => one.visibilityState === "visible") ?? pages[0];
  if (!page) return self.clients.openWindow(notification.data);
  page.postMessage({ open: notification.data });
  return page.focus();
}
