// The console as an installed application: its service worker, the badge on its icon, and what a
// log-out removes.

const WORKER = '/console-worker.js';

/** @type {Promise<ServiceWorkerRegistration | undefined>} */
let registered = Promise.resolve(undefined);

/**
 * Registers the service worker, which browsers allow on secure origins only.
 * @param {(conversation: string) => void} open is called when a notification was clicked
 * @param {AbortSignal} signal
 */
export function install(open, signal) {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  registered = serviceWorker.register(WORKER, { scope: '/console', updateViaCache: 'none' })
    .catch((error) => { console.info('chirrup', error); return undefined; });
  serviceWorker.addEventListener('message', ({ data }) => {
    if (typeof data?.conversation === 'string') open(data.conversation);
  }, { signal });
}

/**
 * The tags of the notifications that the worker has shown.
 * @type {Set<string>}
 */
const tags = new Set();

/**
 * Shows a notification by the service worker, as browsers of phones demand.
 * @param {string} title
 * @param {NotificationOptions & {tag: string}} options
 */
export async function notify(title, options) {
  tags.add(options.tag);
  await (await registered)?.showNotification(title, options);
}

/**
 * Closes the notification with a tag, if the worker has shown one.
 * @param {string} tag
 */
export function dismiss(tag) { if (tags.delete(tag)) close({ tag }); }

/** @param {GetNotificationOptions} filter */
async function close(filter) {
  for (const note of await (await registered)?.getNotifications(filter) ?? []) note.close();
}

let shown = 0;

/**
 * Shows a number on the icon of the installed application.
 * @param {number} count
 */
export function badge(count) {
  if (count === shown) return;
  shown = count;
  // a browser that has no icon for this page refuses
  navigator.setAppBadge?.(count).catch(() => {});
}

/**
 * Removes what a log-out must not leave: the number, notifications with names of visitors, and
 * push messages under way.
 */
export async function clear() {
  await close({});
  await (await (await registered)?.pushManager?.getSubscription())?.unsubscribe();
  badge(0); // last: the list shows its number until the session ends
}
