// Keeps what was fetched, for a reload without a network; with one, the newest is taken.
const CACHE = "elmo-keras", START = ["./", "live.css", "live.js", "words.mjs", "korean.json", "models.json"];

self.addEventListener("install", event => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then(cache => cache.addAll(START)));
});
self.addEventListener("activate", event => event.waitUntil(clients.claim()));
self.addEventListener("fetch", event => {
  if (event.request.method === "GET") event.respondWith(answer(event));
});

async function answer(event) {
  const {request} = event, cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) event.waitUntil(cache.put(request, response.clone()));
    return response;
  } catch (error) {
    const kept = await cache.match(request, {ignoreSearch: true});
    if (kept) return kept;
    throw error;
  }
}
