// The service worker of the console: push messages, clicks on notifications, and a page that says
// that there is no network.
// Invariant: it stores nothing. No page, list or token stays on a device after a log-out.

const PUSH = '/api/v1/auth/push';

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

worker.addEventListener('push', (event) => event.waitUntil(shown(event.data.json())));
worker.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(renew()));

/**
 * Shows a push message, unless the operator sees a console: then it is on the page.
 * @param {{conversation: string, title: string, body: string}} message
 */
async function shown({ conversation, title, body }) {
  if ((await consoles()).some(({ visibilityState }) => visibilityState === 'visible')) return;
  // a later message about the conversation replaces an earlier one, as do the page's own
  await worker.registration.showNotification(title, {
    body, tag: conversation, data: conversation, icon: ICON,
  });
}

/** The open consoles: other pages of this origin may host the widget. */
async function consoles() {
  const pages = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  return pages.filter(({ url }) => /^\/console\b/.test(new URL(url).pathname));
}

/** The push service has ended the subscription of this browser: the gateway gets a new one. */
async function renew() {
  const known = await fetch(PUSH);
  if (!known.ok) return; // nobody is logged in
  const { public_key: key, subscribed } = await known.json();
  if (!subscribed) return;
  const made = await worker.registration.pushManager.subscribe({
    userVisibleOnly: true, applicationServerKey: key,
  });
  await fetch(PUSH, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(made),
  });
}

worker.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(show(String(event.notification.data ?? '')));
});

/**
 * Shows a conversation in an open console, or opens one.
 * @param {string} conversation its id, or ''
 */
async function show(conversation) {
  const [open] = await consoles();
  if (!open) return worker.clients.openWindow(`/console#${conversation}`);
  open.postMessage({ conversation });
  return open.focus();
}
