"use strict";(()=>{var s="/api/v1/auth/push",n=self;n.addEventListener("install",()=>{n.skipWaiting()});n.addEventListener("activate",t=>t.waitUntil(n.clients.claim()));n.addEventListener("fetch",t=>{t.request.mode==="navigate"&&t.respondWith(fetch(t.request).catch(()=>new Response(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title data-text>Chirrup console</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; }
</style>
<body dir="auto">
<h1 data-text>No connection to the server</h1>
<p><span data-text>The console opens as soon as the server can be reached.</span>
<a href="/console" data-text>Try now</a></p>
<script>
// the texts by language, in the order of the elements; the choice is that of shell/language.js
const texts = {"en": ["Chirrup console", "No connection to the server", "The console opens as soon as the server can be reached.", "Try now"], "ar": ["وحدة تحكم Chirrup", "لا اتصال بالخادم", "تُفتح وحدة التحكم بمجرد إمكان الوصول إلى الخادم.", "المحاولة الآن"], "de": ["Chirrup-Konsole", "Keine Verbindung zum Server", "Die Konsole öffnet sich, sobald der Server erreichbar ist.", "Jetzt versuchen"], "es": ["Consola de Chirrup", "Sin conexión con el servidor", "La consola se abre en cuanto se pueda acceder al servidor.", "Intentar ahora"], "ja": ["Chirrup コンソール", "サーバーに接続できません", "サーバーにつながると、コンソールが開きます。", "今すぐ試す"], "th": ["คอนโซล Chirrup", "เชื่อมต่อเซิร์ฟเวอร์ไม่ได้", "คอนโซลจะเปิดทันทีที่เข้าถึงเซิร์ฟเวอร์ได้", "ลองตอนนี้"]};
let chosen = '';
try { chosen = JSON.parse(localStorage['chirrup:console:language']); } catch { /* that of the browser */ }
const code = [chosen, ...navigator.languages.map((tag) => tag.slice(0, 2)), 'en'].find((it) => texts[it]);
document.documentElement.lang = code;
document.querySelectorAll('[data-text]').forEach((node, at) => { node.textContent = texts[code][at]; });
<\/script>
</html>
`,{status:503,headers:{"content-type":"text/html; charset=utf-8"}})))});n.addEventListener("push",t=>t.waitUntil(c(t.data.json())));n.addEventListener("pushsubscriptionchange",t=>t.waitUntil(r()));async function c({conversation:t,title:e,body:i}){(await o()).some(({visibilityState:a})=>a==="visible")||await n.registration.showNotification(e,{body:i,tag:t,data:t,icon:"/assets/icon-192-799c892582.png"})}async function o(){return(await n.clients.matchAll({type:"window",includeUncontrolled:!0})).filter(({url:e})=>/^\/console\b/.test(new URL(e).pathname))}async function r(){let t=await fetch(s);if(!t.ok)return;let{public_key:e,subscribed:i}=await t.json();if(!i)return;let a=await n.registration.pushManager.subscribe({userVisibleOnly:!0,applicationServerKey:e});await fetch(s,{method:"PUT",headers:{"content-type":"application/json"},body:JSON.stringify(a)})}n.addEventListener("notificationclick",t=>{t.notification.close(),t.waitUntil(l(String(t.notification.data??"")))});async function l(t){let[e]=await o();return e?(e.postMessage({conversation:t}),e.focus()):n.clients.openWindow(`/console#${t}`)}})();
