// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Half of gnuplot's output are groups without content, one for each change of colour.
#include "report/svg_internal.hpp"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "topologies/error.hpp"

namespace multitree::report {
namespace {

using Ids = std::set<std::string, std::less<>>;

void remove_empty_groups(pugi::xml_node parent) {
  for (pugi::xml_node child = parent.first_child(); child;) {
    const pugi::xml_node next = child.next_sibling();
    remove_empty_groups(child);
    if (std::string_view(child.name()) == "g" && !child.first_child()) parent.remove_child(child);
    child = next;
  }
}

Ids used_ids(const pugi::xml_node& root) {
  Ids used;
  for (const pugi::xpath_node& node : root.select_nodes("//use/@xlink:href")) {
    used.insert(std::string(node.attribute().value()).substr(1));
  }
  return used;
}

/// Markers that no line has; some are made of others, which end up unused then.
void remove_unused_definitions(pugi::xml_node root) {
  pugi::xml_node definitions = root.child("g").child("defs");
  for (bool changed = true; changed;) {
    changed = false;
    const Ids used = used_ids(root);
    for (pugi::xml_node child = definitions.first_child(); child;) {
      const pugi::xml_node next = child.next_sibling();
      if (!used.contains(child.attribute("id").value())) {
        changed |= definitions.remove_child(child);
      }
      child = next;
    }
  }
}

/// Titles are what a browser shows under the mouse; gnuplot leaves its own numbers there.
void name_curves(const pugi::xml_node& root) {
  for (const pugi::xpath_node& found :
       root.select_nodes("//g[starts-with(@id, 'gnuplot_plot_')]")) {
    const pugi::xml_node curve = found.node();
    const pugi::xml_node label = curve.select_node(".//text").node();
    if (label) curve.child("title").text().set(label.text().get());
  }
}

}  // namespace

std::string tidy_svg(const std::string& drawn, const std::string& title) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_string(drawn.c_str());
  pugi::xml_node root = document.child("svg");
  if (!result || !root) {
    throw Error(ErrorCode::Io, fmt::format("gnuplot drew no SVG: {}", result.description()));
  }
  root.remove_child("desc");
  root.remove_child("title");
  if (!title.empty()) root.prepend_child("title").text().set(title.c_str());
  root.append_attribute("role") = "img";
  name_curves(root);
  remove_empty_groups(root);
  remove_unused_definitions(root);
  std::ostringstream out;
  document.save(out, "", pugi::format_indent | pugi::format_no_declaration, pugi::encoding_utf8);
  return out.str();
}

}  // namespace multitree::report
