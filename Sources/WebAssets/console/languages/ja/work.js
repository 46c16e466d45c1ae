// See Words in ../../../README.md, and the files of German for the rules.

export default {
  'A new version of the console is here': 'コンソールの新しいバージョンがあります',
  'Analytics': '分析',
  'Reload': '再読み込み',
  'Reload to open this page. Drafts and unsent messages are kept.': '再読み込みするとこのページが開きます。下書きと未送信のメッセージは残ります。',
  'Settings': '設定',
  'The server is not responding. The rest of the console still works.': 'サーバーが応答しません。コンソールのほかの部分は使えます。',
  'This page could not be loaded': 'このページを読み込めませんでした',
  'Try again': 'もう一度試す',
  'Visitors': '訪問者',
  '{1}, {2} unsaved changes': '{1}、未保存の変更{2}件',
  '{}, 1 unsaved change': '{}、未保存の変更1件',
};
