// The page for attachments: whether they can be sent, how large, of which kinds, and the space that
// all of them use.

import { el } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
import { number, toggle } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { lockedFor, pane } from './pane.js';

const MIB = 1 << 20;
const GIB = 1 << 30;
const LARGEST = [1, 100]; // MiB (`SettingLimits.attachmentBytes`)
const TOTAL = [1, 10_000]; // GiB

/** The groups of types. @type {[name: string, words: string, hint: string][]} */
const GROUPS = [
  ['images', t('Pictures'), 'PNG, JPEG, GIF, WebP, HEIC, TIFF'],
  ['pdf', t('PDF documents'), 'PDF'],
  ['text', t('Text files'), 'TXT, CSV, Markdown, JSON, XML'],
  ['office', t('Office documents'), 'Word, Excel, PowerPoint, OpenDocument'],
  ['audio', t('Audio'), 'MP3, M4A, Ogg, WAV, FLAC'],
  ['video', t('Video'), 'MP4, MOV, WebM, MKV'],
  ['archives', t('Archives'), 'ZIP, 7z, RAR, tar, gzip'],
];

/**
 * In MiB and GiB, and each group by its name.
 * @typedef {{enabled: boolean, largest: number, total: number}
 *   & Record<string, unknown>} Values
 */

/** @param {AttachmentSettings} settings @returns {{files: Values}} */
const shown = ({ enabled, bytes_max: largest, total_bytes: total, types }) => ({
  files: {
    enabled,
    largest: largest / MIB,
    total: total / GIB,
    ...Object.fromEntries(GROUPS.map(([name]) => [name, types.includes(name)])),
  },
});

/** @param {Values} files @returns {AttachmentSettings} */
const stored = (files) => ({
  enabled: files.enabled,
  bytes_max: files.largest * MIB,
  total_bytes: files.total * GIB,
  types: GROUPS.map(([name]) => name).filter((name) => files[name]),
});

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const [known, usage] = await Promise.all([
    context.workspace.load(),
    context.rest.get('attachments/usage').catch(() => null),
  ]);
  const settings = /** @type {AttachmentSettings} */ (known.settings.attachments);
  const form = new Form(shown(settings), {
    keep: `${context.session().operator.id}:attachments`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    for (const [key, [least, most]] of Object.entries({ largest: LARGEST, total: TOTAL })) {
      /** @type {number?} */
      const value = form.get(`files.${key}`);
      if (value == null || !Number.isInteger(value) || value < least || value > most) {
        throw refusal(`files.${key}`, t('Enter a whole number from {1} to {2}.', least, most));
      }
    }
    const answer = await context.workspace.save({ attachments: stored(form.now.files) });
    return shown(/** @type {AttachmentSettings} */ (answer.settings.attachments));
  });
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save });
  return {
    root: pane({
      title: t('Attachments'),
      lead: t('Files that visitors and operators send to each other.'),
      submit,
      bar,
      body: [
        toggle(form, 'files.enabled', {
          label: t('Allow attachments'),
          hint: t('Without it, files that were sent can still be opened'),
        }),
        number(form, 'files.largest', {
          label: t('Largest file'), unit: 'MB', min: LARGEST[0], max: LARGEST[1],
        }),
        el('div.field', {},
          el('h2.label', {}, t('Types of files')),
          el('p.hint', {}, t('The content of a file decides, not its name. Programs are never allowed.'))),
        ...GROUPS.map(([name, label, hint]) => toggle(form, `files.${name}`, { label, hint })),
        number(form, 'files.total', {
          label: t('Space for all files'),
          hint: t('When it is used up, new files are refused. Files go with their conversation.'),
          unit: 'GB',
          min: TOTAL[0],
          max: TOTAL[1],
        }),
        usage && meter(usage),
      ],
    }),
    unsaved: () => form.changes.length,
  };
}

/** @param {number} bytes */
function size(bytes) {
  const [unit, words] = bytes < GIB ? [MIB, 'megabyte'] : [GIB, 'gigabyte'];
  return new Intl.NumberFormat(locale, {
    style: 'unit', unit: words, unitDisplay: 'short', maximumFractionDigits: 1,
  }).format(bytes / unit);
}

/** @param {{bytes: number, total_bytes: number}} usage */
const meter = ({ bytes, total_bytes: total }) => el('div.field', {},
  el('span.label', { id: 'used' }, t('Used')),
  el('meter.usage', {
    min: 0, max: total, high: total * 0.9, optimum: 0, value: bytes, 'aria-labelledby': 'used',
  }),
  el('p.hint.num', {}, t('{1} of {2}', size(bytes), size(total))));
