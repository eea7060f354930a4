// Keeps the page itself, so that it opens while the server is away and shows what this browser has stored.
// It never touches the API: only the page, its icon and the files under /assets, whose names are hashes.
const CACHE = "aura-page";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith("/assets/")) event.respondWith(cacheFirst(event.request));
  else if (url.pathname === "/" || url.pathname === "/icon.svg") event.respondWith(networkFirst(event.request));
});

async function cacheFirst(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request)) ?? (await fetched(cache, request));
}

async function networkFirst(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetched(cache, request);
    if (request.mode === "navigate") await forgetOld(cache, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}

async function fetched(cache, request) {
  const response = await fetch(request);
  if (response.ok) await cache.put(request, response.clone());
  return response;
}

// Drops the assets that the new page does not name.
async function forgetOld(cache, page) {
  const text = await page.text();
  for (const request of await cache.keys()) {
    const path = new URL(request.url).pathname;
    if (path.startsWith("/assets/") && !text.includes(path)) await cache.delete(request);
  }
}
