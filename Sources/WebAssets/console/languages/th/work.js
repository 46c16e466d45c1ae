// See Words in ../../../README.md, and the files of German for the rules.

export default {
  'A new version of the console is here': 'มีคอนโซลเวอร์ชันใหม่',
  'Analytics': 'สถิติ',
  'Reload': 'โหลดใหม่',
  'Reload to open this page. Drafts and unsent messages are kept.': 'โหลดใหม่เพื่อเปิดหน้านี้ ร่างและข้อความที่ยังไม่ส่งจะยังอยู่',
  'Settings': 'การตั้งค่า',
  'The server is not responding. The rest of the console still works.': 'เซิร์ฟเวอร์ไม่ตอบสนอง ส่วนอื่นของคอนโซลยังใช้งานได้',
  'This page could not be loaded': 'โหลดหน้านี้ไม่ได้',
  'Try again': 'ลองอีกครั้ง',
  'Visitors': 'ผู้เยี่ยมชม',
  '{1}, {2} unsaved changes': '{1} มีการเปลี่ยนแปลงที่ยังไม่บันทึก {2} รายการ',
  '{}, 1 unsaved change': '{} มีการเปลี่ยนแปลงที่ยังไม่บันทึก 1 รายการ',
};
