"use strict";(()=>{var s={en:`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>Chirrup console</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; }
</style>
<body dir="auto">
<h1>No connection to the server</h1>
<p>The console opens as soon as the server can be reached. <a href="/console">Try now</a></p>
</html>
`,ar:`<!doctype html>
<html lang="ar">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>وحدة تحكم Chirrup</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; }
</style>
<body dir="auto">
<h1>لا اتصال بالخادم</h1>
<p>تُفتح وحدة التحكم بمجرد إمكان الوصول إلى الخادم. <a href="/console">المحاولة الآن</a></p>
</html>
`,de:`<!doctype html>
<html lang="de">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>Chirrup-Konsole</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; }
</style>
<body dir="auto">
<h1>Keine Verbindung zum Server</h1>
<p>Die Konsole öffnet sich, sobald der Server erreichbar ist. <a href="/console">Jetzt versuchen</a></p>
</html>
`,es:`<!doctype html>
<html lang="es">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>Consola de Chirrup</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; }
</style>
<body dir="auto">
<h1>Sin conexión con el servidor</h1>
<p>La consola se abre en cuanto se pueda acceder al servidor. <a href="/console">Intentar ahora</a></p>
</html>
`,ja:`<!doctype html>
<html lang="ja">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>Chirrup コンソール</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; }
</style>
<body dir="auto">
<h1>サーバーに接続できません</h1>
<p>サーバーにつながると、コンソールが開きます。 <a href="/console">今すぐ試す</a></p>
</html>
`,th:`<!doctype html>
<html lang="th">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>คอนโซล Chirrup</title>
<style>
body { display: grid; place-content: center; min-height: 90vh; margin: 0 24px; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 20px; }
</style>
<body dir="auto">
<h1>เชื่อมต่อเซิร์ฟเวอร์ไม่ได้</h1>
<p>คอนโซลจะเปิดทันทีที่เข้าถึงเซิร์ฟเวอร์ได้ <a href="/console">ลองตอนนี้</a></p>
</html>
`};var l=s[location.search.slice(1)]??s.en,o="/api/v1/auth/push",n=self;n.addEventListener("install",()=>{n.skipWaiting()});n.addEventListener("activate",t=>t.waitUntil(n.clients.claim()));n.addEventListener("fetch",t=>{t.request.mode==="navigate"&&t.respondWith(fetch(t.request).catch(()=>new Response(l,{status:503,headers:{"content-type":"text/html; charset=utf-8"}})))});n.addEventListener("push",t=>t.waitUntil(u(t.data.json())));n.addEventListener("pushsubscriptionchange",t=>t.waitUntil(d()));async function u({conversation:t,title:e,body:i}){(await c()).some(({visibilityState:a})=>a==="visible")||await n.registration.showNotification(e,{body:i,tag:t,data:t,icon:"/assets/icon-192-799c892582.png"})}async function c(){return(await n.clients.matchAll({type:"window",includeUncontrolled:!0})).filter(({url:e})=>/^\/console\b/.test(new URL(e).pathname))}async function d(){let t=await fetch(o);if(!t.ok)return;let{public_key:e,subscribed:i}=await t.json();if(!i)return;let a=await n.registration.pushManager.subscribe({userVisibleOnly:!0,applicationServerKey:e});await fetch(o,{method:"PUT",headers:{"content-type":"application/json"},body:JSON.stringify(a)})}n.addEventListener("notificationclick",t=>{t.notification.close(),t.waitUntil(f(String(t.notification.data??"")))});async function f(t){let[e]=await c();return e?(e.postMessage({conversation:t}),e.focus()):n.clients.openWindow(`/console#${t}`)}})();
