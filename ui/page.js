// What Gradio's components cannot say of themselves: which part of the page announces changes,
// where reading goes on after an example was pressed, and how far the search has learnt its law.
"use strict";

const secondsBetweenLooks = 2;

async function followLearning(line) {
  const told = line.querySelector(".told");
  const share = line.querySelector(".share");
  // Words that change with the minutes are announced, the share is only seen.
  told.setAttribute("role", "status");
  for (let first = true; ; first = false) {
    let now;
    try {
      now = await (await fetch("/learning")).json();
    } catch {
      now = { state: "unknown", told: "", share: "" };
    }
    // That it has learnt is news only to those who saw it learn.
    const words = now.state === "learnt" && first ? "" : now.told;
    if (told.textContent !== words) told.textContent = words;
    share.textContent = now.share;
    line.style.setProperty("--share", now.share || "0%");
    if (now.state !== "learning") return;
    await new Promise((wake) => setTimeout(wake, secondsBetweenLooks * 1000));
  }
}

const drawn = new MutationObserver(() => {
  const status = document.getElementById("status");
  const results = document.getElementById("results");
  const learning = document.getElementById("learning");
  const line = learning && learning.querySelector(".learning");
  if (!status || !results || (learning && !line)) return;
  drawn.disconnect();
  status.setAttribute("role", "status");
  if (line) followLearning(line);
  let last = null;
  new MutationObserver(() => {
    const heading = results.querySelector("h2");
    if (heading === last) return;
    last = heading;
    if (heading && document.activeElement.matches(".example")) heading.focus();
  }).observe(results, { childList: true, subtree: true });
});
drawn.observe(document, { childList: true, subtree: true });
