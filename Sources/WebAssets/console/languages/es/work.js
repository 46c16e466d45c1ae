// See Words in ../../../README.md, and the files of German for the rules.

export default {
  'A new version of the console is here': 'Hay una nueva versión de la consola',
  'Analytics': 'Análisis',
  'Reload': 'Volver a cargar',
  'Reload to open this page. Drafts and unsent messages are kept.': 'Vuelva a cargar para abrir esta página. Se conservan los borradores y los mensajes sin enviar.',
  'Settings': 'Configuración',
  'The server is not responding. The rest of the console still works.': 'El servidor no responde. El resto de la consola sigue funcionando.',
  'This page could not be loaded': 'No se pudo cargar esta página',
  'Try again': 'Intentar de nuevo',
  'Visitors': 'Visitantes',
  '{1}, {2} unsaved changes': '{1}, {2} cambios sin guardar',
  '{}, 1 unsaved change': '{}, 1 cambio sin guardar',
};
