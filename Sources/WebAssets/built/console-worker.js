"use strict";(()=>{var e=self;e.addEventListener("install",()=>{e.skipWaiting()});e.addEventListener("activate",t=>t.waitUntil(e.clients.claim()));e.addEventListener("fetch",t=>{t.request.mode==="navigate"&&t.respondWith(fetch(t.request).catch(()=>new Response(`<!doctype html>
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
<h1>No connection to the server</h1>
<p>The console opens as soon as the server can be reached. <a href="/console">Try now</a></p>
</html>
`,{status:503,headers:{"content-type":"text/html; charset=utf-8"}})))});e.addEventListener("notificationclick",t=>{t.notification.close(),t.waitUntil(i(String(t.notification.data??"")))});async function i(t){let[n]=await e.clients.matchAll({type:"window",includeUncontrolled:!0});return n?(n.postMessage({conversation:t}),n.focus()):e.clients.openWindow(`/console#${t}`)}})();
