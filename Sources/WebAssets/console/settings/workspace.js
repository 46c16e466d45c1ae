// The workspace's settings as the gateway has them. They are loaded once and replaced by the answer
// to each change, so two pages that show the same setting agree.

/** @type {WorkspaceSettings} */
const DEFAULTS = {
  widget: {
    name: null,
    accent: null,
    locale: 'auto',
    theme: 'auto',
    position: 'right',
    greeting: null,
    preview: true,
    sound: true,
    teaser: true,
  },
  hours: { always: true, time_zone: 'UTC', days: [], holidays: [] },
  greeting_message: { enabled: false, text: '' },
  away_message: { enabled: false, text: '' },
  prechat: { enabled: false, fields: [] },
  offline: { enabled: false, text: '' },
  queue: { capacity: 5, assign: 'off', reassign_after_seconds: 60, close_after_minutes: 60,
    first_response_minutes: 0, resolution_minutes: 0,
    show_position: true },
  rating: { enabled: true, question: null },
  retention: { deleted_days: 30 },
  security: { require_second_factor: false },
  routing: { rules: [] },
  watching: { enabled: false },
  attachments: {
    enabled: true, bytes_max: 20 << 20, total_bytes: 5 * 2 ** 30,
    types: ['images', 'pdf', 'text', 'office', 'audio', 'video', 'archives'],
  },
  mail: { answers: true, answers_after_seconds: 300, sender_name: '', sender_address: '',
    reply_to: '', offline_to: '', alert_to: '', alert_after_seconds: 300, transcripts: true },
};

export class Workspace {
  #rest;
  /** @type {Promise<SettingsAnswer>?} */
  #known = null;

  /** @param {Rest} rest */
  constructor(rest) { this.#rest = rest; }

  load() {
    this.#known ??= this.#rest.get('settings').then(full, (error) => {
      this.#known = null;
      throw error;
    });
    return this.#known;
  }

  /**
   * @param {Partial<WorkspaceSettings>} settings
   * @param {{allowed_origins?: string[]?}} more
   * @returns {Promise<SettingsAnswer>} all of them, afterwards
   */
  async save(settings, more = {}) {
    const answer = await this.#rest.patch('settings', { settings, ...more });
    const known = await this.load();
    const now = answer?.settings ? full(answer) : {
      ...known,
      ...more,
      settings: { ...known.settings, ...settings },
    };
    this.#known = Promise.resolve(now);
    return now;
  }
}

/**
 * The answer with defaults for members that an older gateway leaves out.
 * @param {SettingsAnswer} answer
 * @returns {SettingsAnswer}
 */
function full({ settings, ...rest }) {
  /** @type {WorkspaceSettings} */
  const base = structuredClone(DEFAULTS);
  return {
    ...rest,
    settings: {
      widget: { ...base.widget, ...settings.widget },
      hours: { ...base.hours, ...settings.hours },
      greeting_message: { ...base.greeting_message, ...settings.greeting_message },
      away_message: { ...base.away_message, ...settings.away_message },
      prechat: { ...base.prechat, ...settings.prechat },
      offline: { ...base.offline, ...settings.offline },
      queue: { ...base.queue, ...settings.queue },
      rating: { ...base.rating, ...settings.rating },
      retention: { ...base.retention, ...settings.retention },
      security: { ...base.security, ...settings.security },
      routing: { ...base.routing, ...settings.routing },
      watching: { ...base.watching, ...settings.watching },
      attachments: settings.attachments ?? base.attachments,
      mail: { ...base.mail, ...settings.mail },
    },
  };
}
