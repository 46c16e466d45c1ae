// See Words in ../../../README.md, and the files of German for the rules.

export default {
  'A new version of the console is here': 'Eine neue Version der Konsole ist da',
  'Analytics': 'Auswertung',
  'Reload': 'Neu laden',
  'Reload to open this page. Drafts and unsent messages are kept.': 'Laden Sie neu, um diese Seite zu öffnen. Entwürfe und ungesendete Nachrichten bleiben erhalten.',
  'Settings': 'Einstellungen',
  'The server is not responding. The rest of the console still works.': 'Der Server antwortet nicht. Der Rest der Konsole funktioniert weiterhin.',
  'This page could not be loaded': 'Diese Seite konnte nicht geladen werden',
  'Try again': 'Erneut versuchen',
  'Visitors': 'Besucher',
  '{1}, {2} unsaved changes': '{1}, {2} nicht gespeicherte Änderungen',
  '{}, 1 unsaved change': '{}, 1 nicht gespeicherte Änderung',
};
