// SPDX-License-Identifier: Apache-2.0
#include <fanin/build_info.hpp>

namespace fanin {

const char* version() noexcept { return detail::options_of_headers.version; }
build_options build_info() noexcept { return detail::options_of_headers; }

}  // namespace fanin
