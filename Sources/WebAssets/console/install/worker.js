// The service worker of the console: clicks on its notifications, and a page that says that there
// is no network.
// Invariant: it stores nothing. No page, list or token stays on a device after a log-out.

const worker = /** @type {WorkerScope} */ (/** @type {unknown} */ (self));

worker.addEventListener('install', () => { worker.skipWaiting(); });
worker.addEventListener('activate', (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener('fetch', (event) => {
  if (event.request.mode !== 'navigate') return; // the browser fetches all else, as without us
  event.respondWith(fetch(event.request).catch(() => new Response(OFFLINE_PAGE, {
    status: 503,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })));
});

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(show(String(event.notification.data ?? '')));
});

/**
 * Shows a conversation in an open console, or opens one.
 * @param {string} conversation its id, or ''
 */
async function show(conversation) {
  const [open] = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (!open) return worker.clients.openWindow(`/console#${conversation}`);
  open.postMessage({ conversation });
  return open.focus();
}
