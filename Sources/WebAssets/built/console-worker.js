"use strict";(()=>{var s="/api/v1/auth/push",n=self;n.addEventListener("install",()=>{n.skipWaiting()});n.addEventListener("activate",t=>t.waitUntil(n.clients.claim()));n.addEventListener("fetch",t=>{t.request.mode==="navigate"&&t.respondWith(fetch(t.request).catch(()=>new Response(`<!doctype html>
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
`,{status:503,headers:{"content-type":"text/html; charset=utf-8"}})))});n.addEventListener("push",t=>t.waitUntil(c(t.data.json())));n.addEventListener("pushsubscriptionchange",t=>t.waitUntil(r()));async function c({conversation:t,title:e,body:i}){(await o()).some(({visibilityState:a})=>a==="visible")||await n.registration.showNotification(e,{body:i,tag:t,data:t,icon:"/assets/icon-192-799c892582.png"})}async function o(){return(await n.clients.matchAll({type:"window",includeUncontrolled:!0})).filter(({url:e})=>/^\/console\b/.test(new URL(e).pathname))}async function r(){let t=await fetch(s);if(!t.ok)return;let{public_key:e,subscribed:i}=await t.json();if(!i)return;let a=await n.registration.pushManager.subscribe({userVisibleOnly:!0,applicationServerKey:e});await fetch(s,{method:"PUT",headers:{"content-type":"application/json"},body:JSON.stringify(a)})}n.addEventListener("notificationclick",t=>{t.notification.close(),t.waitUntil(l(String(t.notification.data??"")))});async function l(t){let[e]=await o();return e?(e.postMessage({conversation:t}),e.focus()):n.clients.openWindow(`/console#${t}`)}})();
