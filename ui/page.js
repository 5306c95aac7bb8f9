// What Gradio's components cannot say of themselves: which part of the page announces changes, and
// where reading goes on after an example was pressed.
"use strict";

const drawn = new MutationObserver(() => {
  const status = document.getElementById("status");
  const results = document.getElementById("results");
  if (!status || !results) return;
  drawn.disconnect();
  status.setAttribute("role", "status");
  let last = null;
  new MutationObserver(() => {
    const heading = results.querySelector("h2");
    if (heading === last) return;
    last = heading;
    if (heading && document.activeElement.matches(".example")) heading.focus();
  }).observe(results, { childList: true, subtree: true });
});
drawn.observe(document, { childList: true, subtree: true });
