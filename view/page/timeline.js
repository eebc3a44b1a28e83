// Timelines of simulations and runs, one below the other for each link, and how far apart their steps end.

const LANE = 7, GAP = 4, NAMES = 110;  // pixels

function step_times(timeline) {
  const steps = new Map();
  for (const [, step, , begin, end] of timeline.passages) {
    const known = steps.get(step) || [Infinity, 0];
    steps.set(step, [Math.min(known[0], begin), Math.max(known[1], end)]);
  }
  return steps;
}

const length_of = timeline => Math.max(...timeline.passages.map(p => p[4])) || 1;

// The row, and the place of a time in it, of a timeline.
function place_in(timelines, index, width, together) {
  const lengths = timelines.map(length_of);
  const scale = (width - NAMES) / (together ? Math.max(...lengths) : lengths[index]);
  const height = timelines.length * LANE + GAP;
  return {x: time => NAMES + time * scale, y: row => row * height + index * LANE + GAP / 2, height};
}

function draw_timelines() {
  const {timelines, timeline_rows: rows} = page, canvas = at('timeline'), pen = canvas.getContext('2d');
  const together = at('same-axis').checked, width = canvas.parentNode.clientWidth || 1000;
  const {height} = place_in(timelines, 0, width, together);
  canvas.width = width;
  canvas.height = rows.length * height;
  pen.font = '11px sans-serif';
  pen.textBaseline = 'middle';
  rows.forEach((row, i) => {
    pen.fillStyle = i % 2 ? '#f5f6f8' : '#ffffff';
    pen.fillRect(0, i * height, width, height);
    pen.fillStyle = '#1b1f24';
    pen.fillText(row, 2, (i + .5) * height, NAMES - 6);
  });
  timelines.forEach((timeline, index) => {
    const {x, y} = place_in(timelines, index, width, together);
    for (const [row, , reduces, begin, end] of timeline.passages) {
      pen.fillStyle = colour(reduces ? 'reduce' : 'copy');
      pen.globalAlpha = index % 2 ? .55 : 1;
      pen.fillRect(x(begin), y(row), Math.max(1, x(end) - x(begin) - .5), LANE - 1);
    }
    pen.globalAlpha = 1;
  });
}

// What is under the pointer.
function tell_passage(event) {
  const {timelines, timeline_rows: rows} = page, canvas = at('timeline'), together = at('same-axis').checked;
  const found = timelines.flatMap((timeline, index) => {
    const {x, y} = place_in(timelines, index, canvas.width, together);
    return timeline.passages.filter(([row, , , begin, end]) => y(row) <= event.offsetY && event.offsetY < y(row) + LANE &&
      x(begin) <= event.offsetX && event.offsetX <= Math.max(x(end), x(begin) + 1)).map(p => [timeline, p]);
  })[0];
  at('passage').textContent = found
    ? `${found[0].name}: ${rows[found[1][0]]}, step ${found[1][1] + 1}, ${seconds(found[1][3])} to ${seconds(found[1][4])}`
    : '';
}

function fill_steps() {
  const {timelines} = page, table = at('timeline-steps'), times = timelines.map(step_times);
  const steps = [...new Set(times.flatMap(t => [...t.keys()]))].sort((a, b) => a - b);
  const heads = ['step', ...timelines.map(t => `${t.name} ends`), ...timelines.slice(1).flatMap(() => ['later by', 'times'])];
  const rows = steps.map(step => {
    const ends = times.map(t => t.has(step) ? t.get(step)[1] : null), first = ends[0];
    const later = end => end === null || first === null ? ['-', '-']
      : [`${end < first ? '-' : ''}${seconds(Math.abs(end - first))}`, first > 0 ? (end / first).toFixed(2) : '-'];
    return [step + 1, ...ends.map(end => end === null ? '-' : seconds(end)), ...ends.slice(1).flatMap(later)];
  });
  table.replaceChildren();
  for (const [cells, kind] of [[heads, 'th'], ...rows.map(r => [r, 'td'])]) {
    const line = table.insertRow();
    for (const text of cells) line.appendChild(document.createElement(kind)).textContent = text;
  }
}

function show_timelines() {
  at('timelines').hidden = !page.timelines;
  if (!page.timelines) return;
  at('timeline-names').textContent = page.timelines.map(
    (t, i) => `${i ? 'then ' : 'Above '}${t.name} (${t.all > t.passages.length ? `the first ${t.passages.length} of ` : ''}${t.all} messages, ` +
              `${seconds(length_of(t))})`).join(', ') + '. ';
  draw_timelines();
  fill_steps();
}

at('same-axis').addEventListener('change', draw_timelines);
at('timeline').addEventListener('mousemove', tell_passage);
window.addEventListener('resize', () => { if (page && page.timelines) draw_timelines(); });
