// Keeps the page itself, so that it opens while the server is away and shows what this browser has stored.
// It never touches the API: only the page, its icon and the files under /assets. The server comes first, so
// that the files always fit together; what is kept is used only when it does not answer.
const CACHE = "aura-page";

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(["/", "/icon.svg"])));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  const isPage = pathname === "/" || pathname === "/icon.svg" || pathname.startsWith("/assets/");
  if (event.request.method === "GET" && origin === self.location.origin && isPage) {
    event.respondWith(answer(event.request));
  }
});

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
