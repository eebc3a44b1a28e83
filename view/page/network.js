'use strict';
// The network as a drawing: places of nodes and links, and how each looks. Knows nothing of schedules.

const SVG = 'http://www.w3.org/2000/svg';

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(made);
  return made;
}

// From pale to dark blue, for shares from 0 to 1; lightness falls steadily, so grey print and
// colour-blind readers see the same order.
function shade(share) {
  const stops = [[222, 235, 247], [158, 202, 225], [66, 146, 198], [8, 69, 148], [8, 29, 88]];
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const mixed = stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (at - low)));
  return `rgb(${mixed.join(',')})`;
}

// How far to the side of the straight line a link bends, in units: links that pass over other nodes
// go around them, and parallel links part.
function bends(nodes, links) {
  const places = new Set(nodes.map(n => `${Math.round(n[0] * 10)},${Math.round(n[1] * 10)}`));
  const twins = new Map();
  return links.map(([src, dst]) => {
    const [ax, ay] = nodes[src], [bx, by] = nodes[dst];
    const length = Math.hypot(bx - ax, by - ay);
    let bend = 0.05;  // the two directions of a cable lie side by side
    // Places in grids are multiples of a fifth apart.
    const parts = Math.round(length * 5);
    for (let i = 3; i < parts - 2 && bend < 0.1; ++i) {
      const x = ax + (bx - ax) * i / parts, y = ay + (by - ay) * i / parts;
      if (places.has(`${Math.round(x * 10)},${Math.round(y * 10)}`)) bend = Math.min(0.12 + 0.1 * length, 0.45);
    }
    const pair = `${src},${dst}`;
    const before = twins.get(pair) || 0;
    twins.set(pair, before + 1);
    return bend + 0.12 * before;
  });
}

class Drawing {
  constructor(svg, network) {
    this.network = network;
    const {nodes, links} = network;
    const xs = nodes.map(n => n[0]), ys = nodes.map(n => n[1]);
    const least = v => v.reduce((a, b) => Math.min(a, b)), most = v => v.reduce((a, b) => Math.max(a, b));
    const margin = 0.75;
    const width = most(xs) - least(xs) + 2 * margin, height = most(ys) - least(ys) + 2 * margin;
    svg.setAttribute('viewBox', `${least(xs) - margin} ${least(ys) - margin} ${width} ${height}`);
    this.scale = Math.max(1, width / 26);  // large networks get thicker lines
    const bend = bends(nodes, links);
    this.links = element('g', {}, svg);
    this.over = element('g', {}, svg);
    this.paths = links.map((link, i) => this.draw_link(link, bend[i]));
    this.dots = nodes.map(node => this.draw_node(node, svg));
  }

  draw_link([src, dst, bandwidth, latency], bend) {
    const {nodes} = this.network;
    const [ax, ay] = nodes[src], [bx, by] = nodes[dst];
    const length = Math.hypot(bx - ax, by - ay) || 1;
    const nx = -(by - ay) / length, ny = (bx - ax) / length;
    const mid = [(ax + bx) / 2 + nx * bend * 2, (ay + by) / 2 + ny * bend * 2];
    const shift = Math.min(bend, 0.06);
    const d = `M${ax + nx * shift},${ay + ny * shift} Q${mid[0]},${mid[1]} ${bx + nx * shift},${by + ny * shift}`;
    const path = element('path', {class: 'link', d}, this.links);
    element('title', {}, path).textContent =
      `${nodes[src][3]} to ${nodes[dst][3]}: ${bandwidth}, ${latency}`;
    // A third of the way, so that the numbers of a cable's two directions stand apart.
    path.label = [ax + (bx - ax) * 0.36 + nx * bend, ay + (by - ay) * 0.36 + ny * bend];
    return path;
  }

  draw_node([x, y, rank, name], svg) {
    const group = element('g', {}, svg);
    const size = rank < 0 ? 0.2 : 0.17;
    const dot = rank < 0
      ? element('rect', {class: 'node', x: x - size, y: y - size * 0.7, width: 2 * size, height: 1.4 * size, rx: 0.04}, group)
      : element('circle', {class: 'node', cx: x, cy: y, r: size}, group);
    element('title', {}, dot).textContent = rank < 0 ? `switch ${name}` : `rank ${rank} (${name})`;
    if (rank >= 0) element('text', {x, y}, group).textContent = rank;
    return dot;
  }

  // looks: by link, {colour, width, dash, number}; none: pale. marks: by node, a colour.
  show(looks, marks) {
    this.over.replaceChildren();
    this.paths.forEach((path, i) => {
      const look = looks.get(i) || {colour: '#e2e5e9', width: 0.02};
      path.setAttribute('stroke', look.colour);
      path.setAttribute('stroke-width', look.width * this.scale);
      path.setAttribute('stroke-dasharray', look.dash || 'none');
      if (looks.has(i)) this.links.appendChild(path);  // in front of the pale ones
      if (look.number !== undefined) {
        const [x, y] = path.label;
        element('text', {class: 'step-number', x, y}, this.over).textContent = look.number;
      }
    });
    this.dots.forEach((dot, i) => dot.setAttribute('fill', marks.get(i) || '#ffffff'));
  }
}
