// The rules of the filters: which sections can have rows, which parameters a section requests, and
// whether a row that the socket brings belongs to the list. They are those of the gateway.

/** @typedef {import('./section.js').SectionName} SectionName */
/** @typedef {import('./inbox.js').Row} Row */

/** The filters that the lists of open conversations alone have. */
const OF_OPEN = /** @type {const} */ (['status', 'language', 'waiting_minutes', 'due_minutes', 'attribute',
  'channel']);
const MINUTE = 60_000; // ms

/**
 * Whether a section can have rows that match.
 * @param {SectionName} name
 * @param {Filters} filter
 * @param {string} me the id of this operator
 */
export function isPossible(name, { status, assignee, waiting_minutes: minutes }, me) {
  if (name === 'closed') return true;
  if (name === 'waiting') return status !== 'active';
  if (status === 'waiting' || minutes) return false;
  const isMine = assignee === 'me' || assignee === me;
  return !assignee || (name === 'mine') === isMine;
}

/**
 * The parameters that a section requests; the section has the status.
 * @param {SectionName} name
 * @param {Filters} filter
 * @returns {Query}
 */
export function queryOf(name, filter) {
  /** @type {Query} */
  const query = { ...filter };
  delete query.status;
  if (name === 'closed') for (const key of OF_OPEN) delete query[key];
  return query;
}

/**
 * Whether the row matches, but for its attributes, which rows do not have.
 * @param {Filters} filter
 * @param {Row} row
 * @param {string} me
 */
export function matches(filter, row, me) {
  const {
    status, assignee, team, tag, language, waiting_minutes: minutes, due_minutes: due, channel,
  } = filter;
  if (tag && row.tags && !row.tags.includes(tag)) return false;
  if (team && (row.team?.id ?? 'none') !== team) return false;
  if (assignee && (row.assignee?.id ?? 'none') !== (assignee === 'me' ? me : assignee)) return false;
  if (row.status === 'closed') return true;
  if (status && status !== 'open' && row.status !== status) return false;
  if (language && !speaks(row.context?.locale, language)) return false;
  if (due !== undefined && !isDue(row, due)) return false;
  if (channel && (row.channel ?? 'web') !== channel) return false;
  if (!minutes) return true;
  const since = Date.parse(row.waiting_since ?? row.created_at);
  return row.status === 'waiting' && Date.now() - since >= minutes * MINUTE;
}

/**
 * @param {Row} row
 * @param {number} minutes
 */
const isDue = ({ due_at: at }, minutes) => (
  !!at && Date.parse(at) - Date.now() <= minutes * MINUTE);

/**
 * @param {unknown} locale of the visitor
 * @param {string} language
 */
function speaks(locale, language) {
  const [own, wanted] = [String(locale ?? ''), language].map((tag) => tag.toLowerCase());
  return own === wanted || own.startsWith(`${wanted}-`);
}
