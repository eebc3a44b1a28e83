'use strict';
// The network as a drawing: places of nodes and links, and how each looks. Knows nothing of schedules.

const SVG = 'http://www.w3.org/2000/svg';

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(made);
  return made;
}

// From pale to dark blue, for shares from 0 to 1.
function shade(share) {
  const stops = page.shades;
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const mixed = stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (at - low)));
  return `rgb(${mixed.join(',')})`;
}

class Drawing {
  constructor(svg, network) {
    this.network = network;
    svg.replaceChildren();
    svg.setAttribute('viewBox', network.box.join(' '));
    this.scale = network.line;  // large networks get thicker lines
    this.links = element('g', {}, svg);
    this.over = element('g', {}, svg);
    this.paths = network.links.map(link => this.draw_link(link));
    this.dots = network.nodes.map(node => this.draw_node(node, svg));
  }

  draw_link([src, dst, bandwidth, latency, curve]) {
    const {nodes} = this.network;
    const [ax, ay, cx, cy, bx, by, ...label] = curve;
    const path = element('path', {class: 'link', d: `M${ax},${ay} Q${cx},${cy} ${bx},${by}`}, this.links);
    element('title', {}, path).textContent =
      `${nodes[src][3]} to ${nodes[dst][3]}: ${bandwidth}, ${latency}`;
    path.label = label;
    return path;
  }

  draw_node([x, y, rank, name, label], svg) {
    const group = element('g', {}, svg);
    const size = rank < 0 ? 0.2 : 0.17;
    const dot = rank < 0
      ? element('rect', {class: 'node', x: x - size, y: y - size * 0.7, width: 2 * size, height: 1.4 * size, rx: 0.04}, group)
      : element('circle', {class: 'node', cx: x, cy: y, r: size}, group);
    element('title', {}, dot).textContent = rank < 0 ? `switch ${name}` : `rank ${rank} (${name})`;
    if (rank >= 0) element('text', {x, y}, group).textContent = rank;
    if (label) element('text', {class: 'name', x, y: y + 0.27}, group).textContent = label;
    return dot;
  }

  // looks: by link, {colour, width, dash, number}; none: pale. marks: by node, a colour.
  show(looks, marks) {
    this.over.replaceChildren();
    this.paths.forEach((path, i) => {
      const look = looks.get(i) || {colour: page.colours.idle, width: 0.02};
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
