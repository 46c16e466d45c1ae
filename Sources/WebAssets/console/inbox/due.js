// The time until the next target of a conversation is due, in the list and in the thread's head.

import { t } from '../shell/language.js';

const SOON = 900; // seconds; a quarter of an hour before it is due

/**
 * @param {string} at when it is due
 * @returns {{level: string, words: string, time: string}} `time` has no sign
 */
export function timeLeft(at) {
  const seconds = Math.floor((Date.parse(at) - Date.now()) / 1000);
  const time = span(Math.abs(seconds));
  if (seconds < 0) return { level: 'urgent', words: t('{} over', time), time };
  return { level: seconds < SOON ? 'soon' : '', words: time, time };
}

/** @param {number} seconds */
function span(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t('{}\u00a0min', minutes);
  if (minutes < 2880) return t('{}\u00a0h', Math.floor(minutes / 60));
  return t('{}\u00a0days', Math.floor(minutes / 1440));
}

/**
 * What the head of the thread says: which target is due, or was missed.
 * @param {ConversationRow?} row
 */
export function dueWords(row) {
  if (!row?.due_at || row.status === 'closed') return '';
  const { level, time } = timeLeft(row.due_at);
  const isReply = row.status === 'waiting';
  if (level === 'urgent') return isReply ? t('Reply overdue by {}', time) : t('Target overdue by {}', time);
  return isReply ? t('Reply due in {}', time) : t('Target due in {}', time);
}
