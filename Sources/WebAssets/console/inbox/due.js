// The time until the next target of a conversation is due, in the list and in the thread's head.

const SOON = 900; // seconds; a quarter of an hour before it is due

/**
 * @param {string} at when it is due
 * @returns {{level: string, words: string}}
 */
export function timeLeft(at) {
  const seconds = Math.floor((Date.parse(at) - Date.now()) / 1000);
  const words = span(Math.abs(seconds));
  if (seconds < 0) return { level: 'urgent', words: `${words} over` };
  return { level: seconds < SOON ? 'soon' : '', words };
}

/** @param {number} seconds */
function span(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}\u00a0min`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)}\u00a0h`;
  return `${Math.floor(minutes / 1440)}\u00a0days`;
}

/**
 * What the head of the thread says: which target is due, or was missed.
 * @param {ConversationRow?} row
 */
export function dueWords(row) {
  if (!row?.due_at || row.status === 'closed') return '';
  const { level, words } = timeLeft(row.due_at);
  const noun = row.status === 'waiting' ? 'Reply' : 'Target';
  return level === 'urgent' ? `${noun} overdue by ${words.replace(' over', '')}`
    : `${noun} due in ${words}`;
}
