// See Words in ../../../README.md, and the files of German for the rules.

export default {
  'A new version of the console is here': 'يتوفر إصدار جديد من وحدة التحكم',
  'Analytics': 'التحليلات',
  'Reload': 'إعادة التحميل',
  'Reload to open this page. Drafts and unsent messages are kept.': 'أعد التحميل لفتح هذه الصفحة. تبقى المسودات والرسائل غير المرسلة محفوظة.',
  'Settings': 'الإعدادات',
  'The server is not responding. The rest of the console still works.': 'الخادم لا يستجيب. بقية وحدة التحكم لا تزال تعمل.',
  'This page could not be loaded': 'تعذّر تحميل هذه الصفحة',
  'Try again': 'إعادة المحاولة',
  'Visitors': 'الزوار',
  '{1}, {2} unsaved changes': '{1}، تغييرات غير محفوظة: {2}',
  '{}, 1 unsaved change': '{}، تغيير واحد غير محفوظ',
};
