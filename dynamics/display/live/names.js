// Name of the body under the pointer, next to it. viser says nothing of hovering to the server; this
// reads what its page shows its own tests (window.__viserMutable), and does nothing without it.
(names) => {
  document.getElementById("name of a body")?.remove();
  const tip = document.body.appendChild(document.createElement("div"));
  tip.id = "name of a body";
  tip.style.cssText = "position:fixed;display:none;pointer-events:none;z-index:9999;padding:2px 8px;" +
    "border-radius:4px;background:#222c;color:#fff;font:13px sans-serif;white-space:nowrap";

  const nameOf = () => {
    const viser = window.__viserMutable;
    const state = viser?.scene?.__r3f?.root?.getState?.();
    for (const hit of state?.internal?.hovered?.values() ?? []) {
      const path = Object.keys(names).find((path) => {
        const frame = viser.nodeRefFromName[path];
        for (let at = hit.eventObject; at; at = at.parent) if (at === frame) return true;
        return false;
      });
      if (path) return names[path];
    }
    return null;
  };

  document.addEventListener("pointermove", (event) => requestAnimationFrame(() => {
    if (!tip.isConnected) return;
    const name = event.target === window.__viserMutable?.canvas ? nameOf() : null;
    tip.style.display = name === null ? "none" : "block";
    tip.textContent = name;  // text, never markup
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${event.clientY + 14}px`;
  }));
}
