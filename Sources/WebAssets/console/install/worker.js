// The service worker of the console: notifications while no console is open, and a page that says
// so when there is no network.
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

worker.addEventListener('push', (event) => {
  const news = read(event.data);
  event.waitUntil(Promise.all([
    worker.registration.showNotification(news.title, {
      body: news.body ?? '',
      icon: ICON_192,
      tag: news.conversation ?? '',
      data: news.conversation ?? '',
    }),
    news.waiting === undefined ? null : worker.navigator.setAppBadge?.(news.waiting),
  ]));
});

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(show(String(event.notification.data ?? '')));
});

/**
 * The news of a push message. A browser withdraws the permission of a page that shows nothing for
 * a message, so one that cannot be read is announced too.
 * @param {{text: () => string} | null} data
 * @returns {{title: string, body?: string, conversation?: string, waiting?: number}}
 */
function read(data) {
  try {
    const news = JSON.parse(data?.text() ?? '');
    if (typeof news?.title === 'string') return news;
  } catch { /* as if it were empty */ }
  return { title: 'News in the console' };
}

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
