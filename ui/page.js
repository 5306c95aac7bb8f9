// What Gradio's components cannot say of themselves: which part of the page announces changes,
// where reading goes on after an example was pressed, and how far the search has learnt its law.
"use strict";

const secondsBetweenLooks = 2;

async function followLearning(box) {
  const told = box.querySelector(".told");
  const share = box.querySelector(".share");
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
    box.style.setProperty("--share", now.share || "100%");
    if (now.state !== "learning") return;
    await new Promise((wake) => setTimeout(wake, secondsBetweenLooks * 1000));
  }
}

const drawn = new MutationObserver(() => {
  const status = document.getElementById("status");
  const results = document.getElementById("results");
  if (!status || !results) return;
  drawn.disconnect();
  status.setAttribute("role", "status");
  const learning = document.querySelector("#learning .learning");
  if (learning) followLearning(learning);
  let last = null;
  new MutationObserver(() => {
    const heading = results.querySelector("h2");
    if (heading === last) return;
    last = heading;
    if (heading && document.activeElement.matches(".example")) heading.focus();
  }).observe(results, { childList: true, subtree: true });
});
drawn.observe(document, { childList: true, subtree: true });
